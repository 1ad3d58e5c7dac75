package config

import (
	"fmt"
	"strconv"
	"time"

	"sidetone/internal/brand"
)

// Fault is a value of the right type that is still invalid.
type Fault struct{ Path, Text, Message, Hint string }

// minIDBytes keeps truncated ids distinct; maxIDBytes is longer than any device name.
const (
	minIDBytes = 16
	maxIDBytes = 4096
)

// maxTokens is high enough to mean "no limit".
const maxTokens = 1_000_000

// Check returns all faults, in a fixed order.
func (c *Config) Check() []Fault {
	var faults []Fault
	add := func(path, text, message, hint string) {
		faults = append(faults, Fault{path, text, message, hint})
	}
	if c.Vendor != "" {
		if err := brand.CheckVendorID(c.Vendor); err != nil {
			add("vendor", c.Vendor, err.Error(), "such as acme")
		}
	}
	if origin := c.RPC.Origin; origin != "" && !brand.ValidOrigin(origin) {
		add("rpc.origin", origin, "not an origin", "such as https://acme.example, without a path")
	}
	if len(c.RPC.Transports) == 0 {
		add("rpc.transports", "", "no transport", "want at least one of ipc, websocket, http")
	}
	faults = append(faults, checkList("rpc.transports", c.RPC.Transports)...)
	if n := c.RPC.Tokens; n < 1 || n > maxTokens {
		add("rpc.tokens", strconv.Itoa(n), "out of range", fmt.Sprintf("want 1 to %d", maxTokens))
	}
	for _, d := range c.durations() {
		if d.value < d.lower || d.value > d.upper {
			add(d.path, short(d.value), "out of range", fmt.Sprintf("want %s to %s", short(d.lower), short(d.upper)))
		}
	}
	faults = append(faults, checkList("report.fields", c.Report.Fields)...)
	if n := c.Report.IDMaxBytes; n != 0 && (n < minIDBytes || n > maxIDBytes) {
		add("report.id_max_bytes", strconv.Itoa(n), "out of range", fmt.Sprintf("want 0 for never, or %d to %d", minIDBytes, maxIDBytes))
	}
	faults = append(faults, checkList("rpc.ipc_folders", c.RPC.IPCFolders)...)
	return append(faults, checkList("sources.files", c.Sources.Files)...)
}

// checkList returns the elements of a list that are empty or duplicates.
func checkList[T ~string](setting string, list []T) (faults []Fault) {
	listed := make(map[T]bool, len(list))
	for i, element := range list {
		if path := fmt.Sprintf("%s[%d]", setting, i); element == "" {
			faults = append(faults, Fault{path, "", "empty path", ""})
		} else if listed[element] {
			faults = append(faults, Fault{path, string(element), "listed twice", ""})
		}
		listed[element] = true
	}
	return faults
}

type bounds struct {
	path                string
	value, lower, upper time.Duration
}

// durations returns each duration with its bounds. Zero is allowed only where the setting can be turned off.
func (c *Config) durations() []bounds {
	return []bounds{
		{"rpc.probe_timeout", c.RPC.ProbeTimeout, 10 * time.Millisecond, time.Minute},
		{"rpc.answer_timeout", c.RPC.AnswerTimeout, 100 * time.Millisecond, 10 * time.Minute},
		{"rpc.http_timeout", c.RPC.HTTPTimeout, time.Second, time.Hour},
		{"rpc.token_every", c.RPC.TokenEvery, time.Millisecond, time.Hour},
		{"rpc.retry_max", c.RPC.RetryMax, 100 * time.Millisecond, time.Hour},
		{"rpc.resend_every", c.RPC.ResendEvery, 0, 24 * time.Hour},
		{"engine.removal_grace", c.Engine.RemovalGrace, 10 * time.Millisecond, time.Minute}, // a USB reset is not an unplug
		{"engine.stale_after", c.Engine.StaleAfter, 0, time.Hour},
	}
}
