package page

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
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

// truncate shortens a text and appends how long it was.
func truncate(s string, limit int) string {
	if n := utf8.RuneCountInString(s); n > limit {
		return string([]rune(s)[:limit]) + fmt.Sprintf("… (%d characters)", n)
	}
	return s
}

// A listView is the current list of one application.
type listView struct {
	App     string       `json:"app"` // client id
	Devices []deviceView `json:"devices"`
	More    int          `json:"more,omitempty"` // devices that are not shown
}

func listOf(app string, list []fakeserver.Device) listView {
	v := listView{App: truncate(app, maxName), More: max(0, len(list)-maxDevices)}
	names := make(map[string]relatedView, len(list))
	for _, d := range list {
		names[d.ID] = relatedView{Name: title(d), Word: strings.ToLower(typeNames[d.Type])}
	}
	seen := map[string]int{}
	for _, d := range list[:len(list)-v.More] {
		id := sha256.Sum256([]byte(d.ID))
		key := fmt.Sprintf("%s %s %x", app, d.Type, id[:8])
		seen[key]++
		v.Devices = append(v.Devices, deviceOf(d, fmt.Sprintf("%s %d", key, seen[key]), names))
	}
	return v
}

// A deviceView is one card.
type deviceView struct {
	Key     string        `json:"key"` // stays the same when the device changes
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

// typeNames are the types of devices as people call them.
var typeNames = map[string]string{
	fakeserver.AudioInput:  "Microphone",
	fakeserver.AudioOutput: "Speaker",
	fakeserver.VideoInput:  "Camera",
}

// A linkView is a name that links to a page, if its URL is one of the web.
type linkView struct {
	Name string `json:"name,omitempty"`
	Href string `json:"href,omitempty"` // http or https only
	Text string `json:"text,omitempty"` // a URL that is not made a link
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

// title is the one name for a device.
func title(d fakeserver.Device) string {
	return truncate(cmp.Or(d.Model.Name, d.Vendor.Name, d.ID), maxName)
}

// A relatedView is a related device of another one.
type relatedView struct {
	Name string `json:"name"`
	Word string `json:"word"` // its type; empty: no device of the list has the id
}

// A flagView is one voice feature. "on" locks the client's own switch (rule R66).
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
		More: max(0, len(d.Related)-maxRelated),
	}
	for _, id := range d.Related[:len(d.Related)-v.More] {
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
	Change    string       `json:"change,omitempty"` // of an accepted list
	Rejected  bool         `json:"rejected,omitempty"`
	Code      int          `json:"code,omitempty"`
	Reasons   []reasonView `json:"reasons,omitempty"`
	Warnings  []reasonView `json:"warnings,omitempty"`
	Fault     string       `json:"fault,omitempty"`
}

// A reasonView says what is wrong, and where.
type reasonView struct {
	Path string `json:"path,omitempty"` // JSON path
	Text string `json:"text"`
}

func payloadOf(p fakeserver.Payload) payloadView {
	v := payloadView{
		Seq: p.Seq, Time: p.Time.Format("15:04:05.000"), Stamp: p.Time.Format(time.RFC3339Nano),
		Transport: transportNames[p.Transport], Conn: p.Conn, App: truncate(p.ClientID, maxNonce),
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

// A faultView is the button of a fault.
type faultView struct {
	Name   string `json:"name"`
	Help   string `json:"help"`
	Want   string `json:"want,omitempty"`   // the syntax of its argument; empty: it has none
	Preset string `json:"preset,omitempty"` // a default argument
}

// presets are arguments for a start, by fault or by syntax.
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
		v.Preset = cmp.Or(presets[v.Name], presets[v.Want])
		out = append(out, v)
	}
	return out
}
