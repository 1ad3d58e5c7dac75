package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
)

const setDevices = "SET_CERTIFIED_DEVICES"

// A command is one message as it is sent.
type command struct {
	nonce     string // by which its answer is recognized; "" if by none
	wantCmd   string // that the answer has to repeat, as JSON
	wantNonce string // likewise; "" for any
	text      string
}

// A payload says how to compose a command; the zero value is an empty list.
type payload struct {
	cmd        any // nil means SET_CERTIFIED_DEVICES
	noCmd      bool
	args       map[string]any // nil means an empty list
	noArgs     bool
	noNonce    bool
	nonce      string // "" means a new one
	otherNonce any    // one by which the answer cannot be recognized; nil for none
	repeated   string // otherNonce as the answer has to repeat it, in JSON; "" for any
}

func (r *run) compose(p payload) command {
	c := command{nonce: p.nonce, wantNonce: p.repeated}
	message := map[string]any{"cmd": cmp.Or(p.cmd, any(setDevices))}
	c.wantCmd = jsonOf(message["cmd"])
	if p.noCmd {
		delete(message, "cmd")
		c.wantCmd = `"DISPATCH"`
	}
	switch {
	case p.args != nil:
		message["args"] = p.args
	case !p.noArgs:
		message["args"] = list()
	}
	switch {
	case p.otherNonce != nil:
		message["nonce"] = p.otherNonce
	case !p.noNonce:
		if c.nonce == "" {
			r.sent++
			c.nonce = fmt.Sprintf("conform-%d", r.sent)
		}
		message["nonce"], c.wantNonce = c.nonce, jsonOf(c.nonce)
	}
	c.text = jsonOf(message)
	return c
}

// jsonOf encodes texts, numbers, booleans, and lists and objects of them: that cannot fail.
func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// sets reports whether the payload holds devices that the server might keep.
func (p payload) sets() bool {
	devices, isList := p.args["devices"].([]any)
	return p.args != nil && (!isList || len(devices) > 0)
}

func list(devices ...any) map[string]any {
	return map[string]any{"devices": append([]any{}, devices...)} // never null
}

type fields = map[string]any

// device is a valid device that nobody can mistake for a real one, with changes: a nil value
// removes the key.
func device(kind string, changes ...fields) fields {
	d := fields{
		"type":    kind,
		"id":      "conformance-check-" + kind,
		"vendor":  fields{"name": "Conformance check", "url": "https://vendor.invalid"},
		"model":   fields{"name": "Not a device", "url": "https://vendor.invalid/model"},
		"related": []string{},
	}
	for _, change := range changes {
		maps.Copy(d, change)
	}
	maps.DeleteFunc(d, func(_ string, value any) bool { return value == nil })
	return d
}

var null = json.RawMessage("null")

func allFlags() fields {
	return fields{"echo_cancellation": true, "noise_suppression": true, "automatic_gain_control": false, "hardware_mute": false}
}
