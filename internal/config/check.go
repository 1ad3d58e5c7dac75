package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sidetone/internal/brand"
)

// fault is one value that has the right type and is wrong all the same.
type fault struct{ path, text, message, hint string }

// minIDBytes keeps cut ids apart; maxIDBytes is beyond any device's name.
const (
	minIDBytes = 16
	maxIDBytes = 4096
)

// maxTokens is as good as no limit.
const maxTokens = 1_000_000

// check returns the faults in a fixed order.
func (c *Config) check() []fault {
	var faults []fault
	add := func(path, text, message, hint string) {
		faults = append(faults, fault{path, text, message, hint})
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
	for i, t := range c.RPC.Transports {
		if slices.Contains(c.RPC.Transports[:i], t) {
			add(fmt.Sprintf("rpc.transports[%d]", i), string(t), "listed twice", "")
		}
	}
	if n := c.RPC.Tokens; n < 1 || n > maxTokens {
		add("rpc.tokens", strconv.Itoa(n), "out of range", fmt.Sprintf("want 1 to %d", maxTokens))
	}
	for _, d := range c.durations() {
		if d.value < d.least || d.value > d.most {
			add(d.path, short(d.value), "out of range", fmt.Sprintf("want %s to %s", short(d.least), short(d.most)))
		}
	}
	for i, f := range c.Report.Fields {
		if slices.Contains(c.Report.Fields[:i], f) {
			add(fmt.Sprintf("report.fields[%d]", i), string(f), "listed twice", "")
		}
	}
	if n := c.Report.IDMaxBytes; n != 0 && (n < minIDBytes || n > maxIDBytes) {
		add("report.id_max_bytes", strconv.Itoa(n), "out of range", fmt.Sprintf("want 0 for never, or %d to %d", minIDBytes, maxIDBytes))
	}
	paths := func(setting string, list []string) {
		for i, file := range list {
			if path := fmt.Sprintf("%s[%d]", setting, i); file == "" {
				add(path, "", "empty path", "")
			} else if slices.Contains(list[:i], file) {
				add(path, file, "listed twice", "")
			}
		}
	}
	paths("rpc.ipc_folders", c.RPC.IPCFolders)
	paths("sources.files", c.Sources.Files)
	return faults
}

type bounds struct {
	path               string
	value, least, most time.Duration
}

// durations gives the bounds of each duration. Zero is meant only where waiting is optional.
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
