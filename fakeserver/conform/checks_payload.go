package conform

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// payloadChecks send one command each, over the cheapest transport. An empty list comes last.
func payloadChecks() []check {
	return slices.Concat(validPayloads(), invalidDevices(), invalidMessages(),
		[]check{payloadCheck("empty-list", "empty list", Read, success, payload{}).specified(success)})
}

func payloadCheck(id, sentence string, basis Basis, want string, p payload) check {
	return quickCheck(InPayload, id, sentence, expects(basis, want), func(ctx context.Context, r *run) (outcome, error) {
		if why := r.whyNoPayloads(); why != "" {
			return outcome{}, notTried(why)
		}
		t := r.commandTransport()
		o, err := r.ask(ctx, t, p)
		o.via = t
		return o, err
	})
}

// devicesCheck is the check of a list, based on the client's code.
func devicesCheck(id, sentence, want string, args fields) check {
	return payloadCheck(id, sentence, Read, want, payload{args: args})
}

// microphone is a list of one valid microphone, with changes.
func microphone(changes ...fields) fields { return list(device("audioinput", changes...)) }

func validPayloads() []check {
	unspecified := func(id, sentence string, args fields) check { return devicesCheck(id, sentence, success, args) }
	good := func(id, sentence string, args fields) check {
		return unspecified(id, sentence, args).specified(success)
	}
	return []check{
		good("list", "microphone, speaker and camera",
			list(device("audioinput", allFlags()), device("audiooutput"), device("videoinput"))),
		good("flags", "microphone with all four flags", microphone(allFlags())),
		good("no-flags", "microphone without flags", microphone()),
		good("speaker", "speaker", list(device("audiooutput"))),
		good("camera", "camera", list(device("videoinput"))),
		good("related", "two devices, related to each other", list(
			device("audioinput", fields{"related": []string{"conformance-check-audiooutput"}}),
			device("audiooutput", fields{"related": []string{"conformance-check-audioinput"}}))),
		unspecified("related-unknown", "related to an id not in the list",
			microphone(fields{"related": []string{"conformance-check-none"}})),
		unspecified("no-names", "vendor, model without name and url", microphone(fields{"vendor": fields{}, "model": fields{}})),
		unspecified("same-id", "two devices with one id",
			list(device("audiooutput"), device("audioinput", fields{"id": "conformance-check-audiooutput"}))),
		unspecified("flag-on-speaker", "flag on a speaker", list(device("audiooutput", fields{"hardware_mute": true}))),
	}
}

func invalidDevices() []check {
	const refused, fails = "ERROR 4000", "ERROR 1000"
	ignored := func(id, sentence string, args fields) check {
		return payloadCheck(id, sentence, Ran, success, payload{args: args})
	}
	return []check{
		devicesCheck("type-unknown", "type unknown", refused, list(device("conformance"))),
		devicesCheck("type-missing", "type missing", refused, microphone(fields{"type": nil})),
		devicesCheck("id-empty", "id empty", refused, microphone(fields{"id": ""})),
		devicesCheck("id-missing", "id missing", refused, microphone(fields{"id": nil})),
		devicesCheck("id-null", "id null", refused, microphone(fields{"id": null})),
		devicesCheck("vendor-missing", "vendor missing", refused, microphone(fields{"vendor": nil})),
		devicesCheck("vendor-null", "vendor null", refused, microphone(fields{"vendor": null})),
		devicesCheck("model-missing", "model missing", refused, microphone(fields{"model": nil})),
		devicesCheck("vendor-name-empty", "vendor.name empty", refused, microphone(fields{"vendor": fields{"name": ""}})),
		devicesCheck("vendor-url-empty", "vendor.url empty", refused, microphone(fields{"vendor": fields{"url": ""}})),
		devicesCheck("model-name-empty", "model.name empty", refused, microphone(fields{"model": fields{"name": ""}})),
		devicesCheck("model-url-empty", "model.url empty", refused, microphone(fields{"model": fields{"url": ""}})),
		devicesCheck("flag-text", "flag is a text", refused, microphone(fields{"hardware_mute": "true"})),
		devicesCheck("flag-null", "flag is null", refused, microphone(fields{"hardware_mute": null})),
		devicesCheck("related-missing", "related missing", fails, microphone(fields{"related": nil})),
		devicesCheck("related-empty-id", "related holds an empty id", refused, microphone(fields{"related": []string{""}})),
		devicesCheck("related-number", "related holds a number", refused, microphone(fields{"related": []int{1}})),
		devicesCheck("one-bad", "one good device, one bad", refused, list(device("audioinput"), device("audiooutput", fields{"id": ""}))),
		ignored("unknown-key", "unknown key in a device", microphone(fields{"conformance": true})).orBuilds(year2024, refused),
		ignored("unknown-vendor-key", "unknown key in vendor", microphone(fields{"vendor": fields{"conformance": true}})).
			orBuilds(year2024, refused),
		devicesCheck("devices-missing", "devices missing", fails, fields{}),
		devicesCheck("devices-object", "devices is an object", refused, fields{"devices": fields{}}),
	}
}

func invalidMessages() []check {
	return []check{
		payloadCheck("args-missing", "args missing", Read, "ERROR 4000", payload{noArgs: true}),
		payloadCheck("nonce-missing", "nonce missing", Read, "ERROR 4000", payload{noNonce: true}),
		payloadCheck("nonce-empty", "nonce empty", Read, "ERROR 4000", payload{otherNonce: ""}),
		payloadCheck("nonce-null", "nonce null", Ran, "ERROR 4000", payload{otherNonce: null}),
		payloadCheck("nonce-zero", "nonce 0", Ran, success, payload{otherNonce: 0, repeated: "0"}),
		payloadCheck("nonce-object", "nonce is an object", Ran, success,
			payload{otherNonce: fields{"conformance": true}, repeated: `{"conformance":true}`}),
		payloadCheck("nonce-huge", "nonce 1e999, answered as null", Ran, success,
			payload{otherNonce: json.RawMessage("1e999"), repeated: "null"}),
		// The command is looked up by its text, and repeated as it was (rule R91).
		payloadCheck("cmd-missing", "cmd missing, answered as DISPATCH", Ran, "ERROR 4002", payload{noCmd: true}),
		payloadCheck("cmd-number", "cmd is a number", Ran, "ERROR 4002", payload{cmd: 7}),
		payloadCheck("cmd-list", "cmd is a list of the command", Ran, success, payload{cmd: []string{setDevices}}),
		payloadCheck("cmd-inherited", "cmd toString", Ran, "ERROR 1000", payload{cmd: "toString"}),
		payloadCheck("unknown-cmd", "unknown cmd", Read, "ERROR 4002", payload{cmd: "CONFORMANCE"}),
	}
}

// whyNoPayloads says why payloads are not tried; "" if they are.
func (r *run) whyNoPayloads() string {
	switch t := r.commandTransport(); {
	case t == "":
		return "no transport takes commands"
	case t == HTTP && !r.opts.All:
		return needsAll
	}
	return ""
}

// commandTransport is the cheapest transport that accepts commands; "" if none does.
func (r *run) commandTransport() Transport {
	switch {
	case r.results["ipc-command"].got == success:
		return IPC
	case r.results["ws-no-origin-command"].got == success, r.results["ws-origin-command"].got == success:
		return WebSocket
	case r.results["http-empty-list"].got == httpSuccess:
		return HTTP
	}
	return ""
}

// ask sends a command: over HTTP at the cost of a token, else on the open connection, which it
// reopens if the server has closed it.
func (r *run) ask(ctx context.Context, t Transport, p payload) (outcome, error) {
	if t == HTTP {
		o, err := r.post(ctx, posting{payload: p})
		o.got = strings.TrimPrefix(o.got, "200 ")
		return o, err
	}
	l, err := r.link(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	before := r.mayHoldDevices
	r.mayHoldDevices = before || p.sets()
	o, err := l.ask(ctx, r.compose(p), r.opts.Patience)
	r.noteDevices(p, o, before)
	return o, err
}

// noteDevices updates mayHoldDevices after an answer; before is what it was before the command.
func (r *run) noteDevices(p payload, o outcome, before bool) {
	switch {
	case strings.Contains(o.got, "ERROR"), strings.HasPrefix(o.got, "400 code"):
		r.mayHoldDevices = before
	case !p.sets() && (o.got == success || o.got == httpSuccess):
		r.mayHoldDevices = false
	}
}
