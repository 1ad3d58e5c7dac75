package page

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"sidetone/fakeserver"
)

// What is sent is bounded, since a payload may have 3 MiB. In characters.
const (
	maxName    = 300
	maxText    = 600
	maxNonce   = 80
	maxURL     = 2000
	maxRelated = 20 // related devices that are named
)

// truncate shortens a text and says how long it was.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + fmt.Sprintf("… (%d characters)", n)
}

// A listView is the list in force of one application.
type listView struct {
	App     string       `json:"app"` // client id
	Devices []deviceView `json:"devices"`
	More    int          `json:"more,omitempty"` // devices that are not shown
}

func listOf(app string, list []fakeserver.Device) listView {
	v := listView{App: truncate(app, maxName)}
	names := make(map[string]relatedView, len(list))
	for _, d := range list {
		names[d.ID] = relatedView{Name: title(d), Word: strings.ToLower(typeNames[d.Type])}
	}
	seen := map[string]int{}
	for i, d := range list {
		if i == maxDevices {
			v.More = len(list) - maxDevices
			break
		}
		key := fmt.Sprintf("%s %s %x", app, d.Type, hash(d.ID))
		seen[key]++
		v.Devices = append(v.Devices, deviceOf(d, fmt.Sprintf("%s %d", key, seen[key]), names))
	}
	return v
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// A deviceView is one card.
type deviceView struct {
	Key     string        `json:"key"` // the same for the same device over changes
	Type    string        `json:"type"`
	Word    string        `json:"word"`
	Title   string        `json:"title"`
	Vendor  linkView      `json:"vendor"`
	Model   linkView      `json:"model"`
	ID      string        `json:"id"`
	Related []relatedView `json:"related,omitempty"`
	More    int           `json:"more,omitempty"`  // related devices that are not named
	Mute    string        `json:"mute,omitempty"`  // of a microphone: on, off or unknown
	Flags   []flagView    `json:"flags,omitempty"` // of a microphone
}

// typeNames are the types of devices, for people.
var typeNames = map[string]string{
	fakeserver.AudioInput:  "Microphone",
	fakeserver.AudioOutput: "Speaker",
	fakeserver.VideoInput:  "Camera",
}

// A linkView is a name that leads to a page, when its address is one of the web.
type linkView struct {
	Name string `json:"name,omitempty"`
	Href string `json:"href,omitempty"` // http or https only
	Text string `json:"text,omitempty"` // an address that is no link
}

func linkOf(n fakeserver.Named) linkView {
	v := linkView{Name: truncate(n.Name, maxName)}
	u, err := url.Parse(n.URL)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && len(n.URL) <= maxURL {
		v.Href = u.String()
	} else {
		v.Text = truncate(n.URL, maxName)
	}
	return v
}

// title is what a device is called when there is room for one name.
func title(d fakeserver.Device) string {
	for _, name := range []string{d.Model.Name, d.Vendor.Name, d.ID} {
		if name != "" {
			return truncate(name, maxName)
		}
	}
	return ""
}

// A relatedView is a device that another one names as related.
type relatedView struct {
	Name string `json:"name"`
	Word string `json:"word"` // its type; empty: no device of the list has the id
}

// A flagView is one voice feature. On locks the client's own switch (rule R66).
type flagView struct {
	Name  string `json:"name"`
	State string `json:"state"` // on, off or unknown
}

func state(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "on"
	}
	return "off"
}

func deviceOf(d fakeserver.Device, key string, names map[string]relatedView) deviceView {
	v := deviceView{
		Key: key, Type: d.Type, Word: typeNames[d.Type], Title: title(d),
		Vendor: linkOf(d.Vendor), Model: linkOf(d.Model), ID: truncate(d.ID, maxName),
	}
	for i, id := range d.Related {
		if i == maxRelated {
			v.More = len(d.Related) - maxRelated
			break
		}
		other, ok := names[id]
		if !ok {
			other.Name = truncate(id, maxName)
		}
		v.Related = append(v.Related, other)
	}
	if d.Type != fakeserver.AudioInput {
		return v // the flags of others are ignored (rule R36)
	}
	v.Mute = state(d.HardwareMute)
	v.Flags = []flagView{
		{"Echo cancellation", state(d.EchoCancellation)},
		{"Noise suppression", state(d.NoiseSuppression)},
		{"Automatic gain control", state(d.AutomaticGainControl)},
	}
	return v
}

// A payloadView is one entry of the timeline.
type payloadView struct {
	Seq       int          `json:"seq"`
	Time      string       `json:"time"`  // of day, for people
	Stamp     string       `json:"stamp"` // RFC 3339
	Transport string       `json:"transport"`
	Conn      int          `json:"conn"`
	App       string       `json:"app"`
	Nonce     string       `json:"nonce"`
	Bytes     int          `json:"bytes"`
	Change    string       `json:"change,omitempty"` // of a list that was taken
	Rejected  bool         `json:"rejected,omitempty"`
	Code      int          `json:"code,omitempty"`
	Reasons   []reasonView `json:"reasons,omitempty"`
	Warnings  []reasonView `json:"warnings,omitempty"`
	Fault     string       `json:"fault,omitempty"`
}

// A reasonView is what is wrong, and where.
type reasonView struct {
	Path string `json:"path,omitempty"` // JSON path
	Text string `json:"text"`
}

func payloadOf(p fakeserver.Payload) payloadView {
	v := payloadView{
		Seq: p.Seq, Time: p.Time.Format("15:04:05.000"), Stamp: p.Time.Format(time.RFC3339Nano),
		Transport: transportName(p.Transport), Conn: p.Conn, App: truncate(p.ClientID, maxNonce),
		Nonce: truncate(p.Nonce, maxNonce), Bytes: len(p.Raw),
		Warnings: reasonsOf(p.Warnings), Fault: string(p.Fault),
	}
	if p.Err == nil {
		v.Change = truncate(fakeserver.Describe(p.Previous, p.Devices), maxText)
		return v
	}
	v.Rejected = true
	v.Reasons = reasonsOf([]string{p.Err.Error()})
	if r := new(fakeserver.Rejection); errors.As(p.Err, &r) {
		v.Code, v.Reasons = r.Code, reasonsOf(r.Reasons)
	}
	return v
}

func reasonsOf(list []string) (out []reasonView) {
	for _, s := range list {
		path, text, ok := strings.Cut(s, ": ")
		if !ok || strings.Contains(path, " ") {
			path, text = "", s
		}
		out = append(out, reasonView{Path: truncate(path, maxText), Text: truncate(text, maxText)})
	}
	return out
}

// A faultView is one button.
type faultView struct {
	Name   string `json:"name"`
	Help   string `json:"help"`
	Want   string `json:"want,omitempty"`   // what its argument is; empty: it has none
	Preset string `json:"preset,omitempty"` // an argument to begin with
}

// presets are arguments that make sense, by fault and else by what is wanted.
var presets = map[string]string{
	"error":          "4006:Not authenticated",
	"http-error":     "4000:Invalid Client ID",
	"DURATION":       "2s",
	"N":              "3",
	"CODE":           "4001",
	"CODE[:MESSAGE]": "1000:Unknown Error",
}

// faultViews makes a button of each line of [fakeserver.FaultHelp].
func faultViews(help string) (out []faultView) {
	for line := range strings.Lines(help) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		v := faultView{Help: strings.TrimSpace(text)}
		v.Name, v.Want, _ = strings.Cut(name, "=")
		if v.Preset = presets[v.Name]; v.Preset == "" {
			v.Preset = presets[v.Want]
		}
		out = append(out, v)
	}
	return out
}
