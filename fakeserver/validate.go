package fakeserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxReasons bounds how many reasons and warnings one payload has.
const maxReasons = 20

// A Rejection says why a payload was not accepted.
type Rejection struct {
	// Code is the RPC error code of the answer, 0 if there is no answer.
	Code int
	// Reasons name the invalid JSON path or part of the request, and what is
	// wrong with it: "devices[1].vendor.url: empty string".
	Reasons []string
}

// Error joins the reasons.
func (r *Rejection) Error() string { return strings.Join(r.Reasons, "; ") }

func reject(code int, format string, args ...any) *Rejection {
	return &Rejection{Code: code, Reasons: []string{fmt.Sprintf(format, args...)}}
}

// A message is what could be read of one command message.
type message struct {
	cmd      any // as the answer repeats it
	nonce    any // as the answer repeats it; nil if there is none
	devices  []Device
	warnings []string
	err      *Rejection // nil if the client would accept it
	found    bool       // there is such a command, and a nonce
}

// parse reads and checks one command message, as [Desktop] or as documented.
func parse(raw []byte, desktop bool) message {
	fields, err := decode(raw)
	if err != nil {
		return message{err: err}
	}
	var c checker
	m := message{}
	if i := bytes.IndexFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		c.warn("message", "non-ASCII byte at %d: escape it as \\uXXXX", i)
	}
	c.unknownKeys("message", fields, "nonce", "cmd", "args")
	cmd, name := commandOf(fields, desktop)
	m.cmd, m.nonce = cmd, fields["nonce"]
	if _, isText := m.nonce.(string); !isText && !desktop {
		m.nonce = nil
	}
	m.nonce = repeated(m.nonce)
	if m.err = c.envelope(fields, name, desktop); m.err == nil {
		m.found = true
		m.devices, m.err = c.args(fields)
	}
	m.warnings = c.warnings
	return m
}

// commandOf returns the command as the answer repeats it, and the name of what is looked up. The
// real client takes any value for a name, and a missing one for that of its own events (rule R91).
func commandOf(fields map[string]any, desktop bool) (cmd any, name string) {
	cmd, sent := fields["cmd"]
	text, isText := cmd.(string)
	switch {
	case isText:
		return text, text
	case !desktop:
		return nil, ""
	case !sent:
		return "DISPATCH", ""
	}
	return repeated(cmd), textOf(cmd)
}

// inherited are the names that every object of JavaScript has. The client finds them among its
// commands, and fails (rule R91).
var inherited = []string{
	"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
	"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}

// decode parses a JSON object. Numbers stay text, since the client does not limit
// them, and a duplicate key has its last value.
func decode(raw []byte) (map[string]any, *Rejection) {
	if !utf8.Valid(raw) {
		return nil, reject(codeBadJSON, "message: not JSON: not UTF-8")
	}
	raw = bytes.TrimRight(raw, " \t\r\n") // a decoder is slow at it
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, reject(codeBadJSON, "message: not JSON: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, reject(codeBadJSON, "message: not JSON: something follows at byte %d", dec.InputOffset())
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, reject(codePayload, "message: %s, not an object", kindOf(value))
	}
	return fields, nil
}

type checker struct {
	invalid  []string // refused by the client's schema: code 4000 (rule R34)
	crashes  []string // passes the schema, then the command fails: code 1000 (rule R32)
	warnings []string
}

func (c *checker) reject(path, format string, args ...any) {
	c.invalid = note(c.invalid, path, format, args...)
}

func (c *checker) warn(path, format string, args ...any) {
	c.warnings = note(c.warnings, path, format, args...)
}

func note(notes []string, path, format string, args ...any) []string {
	switch n := len(notes); {
	case n < maxReasons:
		return append(notes, path+": "+fmt.Sprintf(format, args...))
	case n == maxReasons:
		return append(notes, "and more")
	}
	return notes
}

// envelope checks nonce and cmd (rules R29, R40). The client checks the nonce
// first. The real one accepts any nonce but "" and null.
func (c *checker) envelope(fields map[string]any, name string, desktop bool) *Rejection {
	nonce := fields["nonce"]
	if _, isText := nonce.(string); desktop && nonce != nil && !isText {
		c.warn("nonce", "%s, not a string", kindOf(nonce))
	} else {
		c.text("nonce", fields, "nonce", true)
	}
	if len(c.invalid) > 0 {
		return &Rejection{Code: codePayload, Reasons: c.invalid}
	}
	cmd, sent := fields["cmd"]
	if _, isText := cmd.(string); desktop && sent && !isText {
		c.warn("cmd", "%s, not a string", kindOf(cmd))
	}
	switch {
	case name == command:
		return nil
	case !sent:
		return reject(codeCommand, "cmd: missing")
	case desktop && slices.Contains(inherited, name):
		return reject(codeUnknown, "cmd: %s is no command, but the client finds it", show(name))
	}
	return reject(codeCommand, "cmd: unknown command %s", show(cmd))
}

func (c *checker) args(fields map[string]any) ([]Device, *Rejection) {
	args, ok := member[map[string]any](c, "args", fields, "args", true)
	if !ok {
		return nil, &Rejection{Code: codePayload, Reasons: c.invalid}
	}
	c.unknownKeys("args", args, "devices")
	value, present := args["devices"]
	if !present {
		return nil, reject(codeUnknown, "devices: missing")
	}
	items, ok := value.([]any)
	if !ok {
		return nil, reject(codePayload, "devices: %s, not an array", kindOf(value))
	}
	list := []Device{}
	for i, item := range items {
		list = append(list, c.device(devicePath(i), item))
		if len(c.invalid) > maxReasons {
			break
		}
	}
	switch {
	case len(c.invalid) > 0:
		return nil, &Rejection{Code: codePayload, Reasons: c.invalid}
	case len(c.crashes) > 0:
		return nil, &Rejection{Code: codeUnknown, Reasons: c.crashes}
	}
	c.list(list)
	return list, nil
}

func (c *checker) device(path string, value any) (d Device) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.reject(path, "%s, not an object", kindOf(value))
		return d
	}
	c.unknownKeys(path, fields, deviceKeys...)
	if d.Type, ok = c.text(path+".type", fields, "type", true); ok && !slices.Contains(deviceTypes, d.Type) {
		c.reject(path+".type", "%s is none of audioinput, audiooutput, videoinput", show(d.Type))
	}
	d.ID, _ = c.text(path+".id", fields, "id", true)
	d.Vendor = c.named(path+".vendor", fields, "vendor")
	d.Model = c.named(path+".model", fields, "model")
	d.Related = c.related(path+".related", fields)
	for _, f := range flags {
		*f.field(&d) = c.boolean(path+"."+f.name, fields, f.name, d.Type)
	}
	return d
}

var deviceKeys = []string{
	"type", "id", "vendor", "model", "related",
	"echo_cancellation", "noise_suppression", "automatic_gain_control", "hardware_mute",
}

// member reads a member of an object. It reports whether there is one of the type; a missing one
// is an error only if required.
func member[T any](c *checker, path string, fields map[string]any, key string, required bool) (v T, ok bool) {
	value, present := fields[key]
	v, ok = value.(T)
	switch {
	case !present && required:
		c.reject(path, "missing")
	case present && !ok:
		c.reject(path, "%s, not %s", kindOf(value), kindOf(v))
	}
	return v, ok
}

// text reads a non-empty string.
func (c *checker) text(path string, fields map[string]any, key string, required bool) (string, bool) {
	s, ok := member[string](c, path, fields, key, required)
	if ok && s == "" {
		c.reject(path, "empty string")
	}
	return s, s != ""
}

func (c *checker) named(path string, fields map[string]any, key string) (n Named) {
	object, ok := member[map[string]any](c, path, fields, key, true)
	if !ok {
		return n
	}
	n.Extra = c.unknownKeys(path, object, "name", "url")
	n.Name, _ = c.text(path+".name", object, "name", false)
	n.URL, _ = c.text(path+".url", object, "url", false)
	return n
}

func (c *checker) related(path string, fields map[string]any) []string {
	if _, present := fields["related"]; !present {
		c.crashes = note(c.crashes, path, "missing (an empty array is fine)")
		return nil
	}
	items, ok := member[[]any](c, path, fields, "related", false)
	if !ok {
		return nil
	}
	ids := make([]string, 0, len(items))
	for i, item := range items {
		switch id, ok := item.(string); {
		case !ok:
			c.reject(fmt.Sprintf("%s[%d]", path, i), "%s, not a string", kindOf(item))
		case id == "":
			c.reject(fmt.Sprintf("%s[%d]", path, i), "empty string")
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *checker) boolean(path string, fields map[string]any, key, deviceType string) *bool {
	b, ok := member[bool](c, path, fields, key, false)
	if !ok {
		return nil
	}
	if deviceType != AudioInput {
		c.warn(path, "only for an audioinput device, ignored")
	}
	return &b
}

// list warns about what shows only in the whole list (rules R33, R56).
func (c *checker) list(list []Device) {
	last := make(map[string]int, len(list))
	for i, d := range list {
		last[d.ID] = i
	}
	for i, d := range list {
		if winner := last[d.ID]; d.Type == AudioInput && list[winner].Type != AudioInput {
			c.warn(devicePath(i), "hidden by %s, which has the same id: the audioinput must come last", devicePath(winner))
		}
		for n, id := range d.Related {
			if _, ok := last[id]; !ok {
				c.warn(fmt.Sprintf("%s.related[%d]", devicePath(i), n), "%s is not the id of a device in the list", show(id))
			}
		}
	}
}

// unknownKeys warns about unknown keys and returns their members as a JSON object;
// "" if there are none (rule R35).
func (c *checker) unknownKeys(path string, fields map[string]any, known ...string) string {
	extra := maps.Clone(fields)
	maps.DeleteFunc(extra, func(key string, _ any) bool { return slices.Contains(known, key) })
	if len(extra) == 0 {
		return ""
	}
	unknown := slices.Sorted(maps.Keys(extra))
	for i := range unknown {
		unknown[i] = show(unknown[i])
	}
	c.warn(path, "unknown key %s", strings.Join(unknown[:min(len(unknown), maxReasons)], ", "))
	return string(mustJSON(extra))
}

func devicePath(i int) string { return fmt.Sprintf("devices[%d]", i) }

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	}
	return "null"
}

// show formats a value of the payload in about 64 bytes at most, safe to print to a
// terminal.
func show(v any) string {
	s, ok := v.(string)
	if !ok {
		return kindOf(v)
	}
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
