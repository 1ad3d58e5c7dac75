package conform

import (
	"context"
	"slices"
	"strings"
)

// payloadChecks send one command each, over the transport on which that costs
// least. An empty list comes last.
func payloadChecks() []check {
	return slices.Concat(validPayloads(), invalidDevices(), invalidMessages(),
		[]check{validPayload("empty-list", "empty list", expects(Specified, success), list())})
}

func payloadCheck(id, sentence string, spec, client expectation, p payload) check {
	return check{
		id: "payload-" + id, group: InPayload, sentence: sentence, spec: spec, client: client,
		probe: func(ctx context.Context, r *run) (outcome, error) { return r.askAnywhere(ctx, p) },
	}
}

func validPayload(id, sentence string, spec expectation, args fields) check {
	return payloadCheck(id, sentence, spec, expects(Read, success), payload{args: args})
}

// microphone is the args of a list of one valid microphone, with changes.
func microphone(changes ...fields) fields { return list(device("audioinput", changes...)) }

func validPayloads() []check {
	specified, unspecified := expects(Specified, success), expectation{}
	good := validPayload
	return []check{
		good("list", "microphone, speaker and camera", specified,
			list(device("audioinput", allFlags()), device("audiooutput"), device("videoinput"))),
		good("flags", "microphone with all four flags", specified, microphone(allFlags())),
		good("no-flags", "microphone without flags", specified, microphone()),
		good("speaker", "speaker", specified, list(device("audiooutput"))),
		good("camera", "camera", specified, list(device("videoinput"))),
		good("related", "two devices, related to each other", specified, list(
			device("audioinput", fields{"related": []string{"conformance-check-audiooutput"}}),
			device("audiooutput", fields{"related": []string{"conformance-check-audioinput"}}))),
		good("related-stranger", "related to an id not in the list", unspecified,
			microphone(fields{"related": []string{"conformance-check-none"}})),
		good("no-names", "vendor, model without name and url", unspecified, microphone(fields{"vendor": fields{}, "model": fields{}})),
		good("same-id", "two devices with one id", unspecified,
			list(device("audiooutput"), device("audioinput", fields{"id": "conformance-check-audiooutput"}))),
		good("flag-on-speaker", "flag on a speaker", unspecified, list(device("audiooutput", fields{"hardware_mute": true}))),
	}
}

func invalidDevices() []check {
	refused, fails, ignored := expects(Read, "ERROR 4000"), expects(Read, "ERROR 1000"), expects(Ran, success)
	bad := func(id, sentence string, client expectation, args fields) check {
		return payloadCheck(id, sentence, expectation{}, client, payload{args: args})
	}
	return []check{
		bad("type-unknown", "type unknown", refused, list(device("conformance"))),
		bad("type-missing", "type missing", refused, microphone(fields{"type": nil})),
		bad("id-empty", "id empty", refused, microphone(fields{"id": ""})),
		bad("id-missing", "id missing", refused, microphone(fields{"id": nil})),
		bad("id-null", "id null", refused, microphone(fields{"id": null})),
		bad("vendor-missing", "vendor missing", refused, microphone(fields{"vendor": nil})),
		bad("vendor-null", "vendor null", refused, microphone(fields{"vendor": null})),
		bad("model-missing", "model missing", refused, microphone(fields{"model": nil})),
		bad("vendor-name-empty", "vendor.name empty", refused, microphone(fields{"vendor": fields{"name": ""}})),
		bad("vendor-url-empty", "vendor.url empty", refused, microphone(fields{"vendor": fields{"url": ""}})),
		bad("model-name-empty", "model.name empty", refused, microphone(fields{"model": fields{"name": ""}})),
		bad("model-url-empty", "model.url empty", refused, microphone(fields{"model": fields{"url": ""}})),
		bad("flag-text", "flag is a text", refused, microphone(fields{"hardware_mute": "true"})),
		bad("flag-null", "flag is null", refused, microphone(fields{"hardware_mute": null})),
		bad("related-missing", "related missing", fails, microphone(fields{"related": nil})),
		bad("related-empty-id", "related holds an empty id", refused, microphone(fields{"related": []string{""}})),
		bad("related-number", "related holds a number", refused, microphone(fields{"related": []int{1}})),
		bad("one-bad", "one good device, one bad", refused, list(device("audioinput"), device("audiooutput", fields{"id": ""}))),
		bad("unknown-key", "unknown key in a device", ignored, microphone(fields{"conformance": true})),
		bad("unknown-vendor-key", "unknown key in vendor", ignored, microphone(fields{"vendor": fields{"conformance": true}})),
		bad("devices-missing", "devices missing", fails, fields{}),
		bad("devices-object", "devices is an object", refused, fields{"devices": fields{}}),
	}
}

func invalidMessages() []check {
	bad := func(id, sentence string, client expectation, p payload) check {
		return payloadCheck(id, sentence, expectation{}, client, p)
	}
	return []check{
		bad("args-missing", "args missing", expects(Read, "ERROR 4000"), payload{noArgs: true}),
		bad("nonce-missing", "nonce missing", expects(Read, "ERROR 4000"), payload{noNonce: true}),
		bad("nonce-empty", "nonce empty", expects(Read, "ERROR 4000"), payload{otherNonce: ""}),
		bad("nonce-null", "nonce null", expects(Ran, "ERROR 4000"), payload{otherNonce: null}),
		bad("nonce-zero", "nonce 0", expects(Ran, success), payload{otherNonce: 0}),
		bad("nonce-object", "nonce is an object", expects(Ran, success), payload{otherNonce: fields{"conformance": true}}),
		bad("unknown-cmd", "unknown cmd", expects(Read, "ERROR 4002"), payload{cmd: "CONFORMANCE"}),
	}
}

// askAnywhere sends a command over a transport that takes commands.
func (r *run) askAnywhere(ctx context.Context, p payload) (outcome, error) {
	if why := r.whyNoPayloads(); why != "" {
		return outcome{}, notTried(why)
	}
	t := r.commandTransport()
	o, err := r.ask(ctx, t, p)
	o.via = t
	return o, err
}

// whyNoPayloads says why payloads are not tried; "" when they are.
func (r *run) whyNoPayloads() string {
	switch t := r.commandTransport(); {
	case t == "":
		return "no transport takes commands"
	case t == HTTP && !r.opts.All:
		return needsAll
	}
	return ""
}

// commandTransport is the transport on which a command costs least of those that take commands; "" for none.
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

// ask sends a command: over HTTP at the cost of a token, else on the open
// connection, which is opened anew when the server has closed it.
func (r *run) ask(ctx context.Context, t Transport, p payload) (outcome, error) {
	if t == HTTP {
		o, err := r.post(ctx, posting{payload: p}, r.admit)
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
	r.settle(p, o, before)
	return o, err
}

// settle notes what the server may hold after an answer; before says whether
// it may have held devices of a check already.
func (r *run) settle(p payload, o outcome, before bool) {
	switch {
	case strings.Contains(o.got, "ERROR"), strings.HasPrefix(o.got, "400 code"):
		r.mayHoldDevices = before
	case !p.sets() && (o.got == success || o.got == httpSuccess):
		r.mayHoldDevices = false
	}
}
