package conform

import (
	"context"
	"strings"
)

// payloadChecks send one command each, over the transport on which that costs
// least. An empty list comes last.
func payloadChecks() []check {
	taken := says(Read, success)
	specified := says(Specified, success)
	invalid, fails := says(Read, "ERROR 4000"), says(Read, "ERROR 1000")
	var all []check
	add := func(id, sentence string, spec, client expectation, p payload) {
		all = append(all, check{
			id: "payload-" + id, group: InPayload, sentence: sentence, spec: spec, client: client,
			probe: func(ctx context.Context, r *run) (outcome, error) { return r.askAnywhere(ctx, p) },
		})
	}
	good := func(id, sentence string, spec expectation, args fields) {
		add(id, sentence, spec, taken, payload{args: args})
	}
	bad := func(id, sentence string, client expectation, args fields) {
		add(id, sentence, expectation{}, client, payload{args: args})
	}
	input := func(changes ...fields) fields { return list(device("audioinput", changes...)) }
	nothing := expectation{}

	good("list", "microphone, speaker and camera", specified,
		list(device("audioinput", allFlags()), device("audiooutput"), device("videoinput")))
	good("flags", "microphone with all four flags", specified, input(allFlags()))
	good("no-flags", "microphone without flags", specified, input())
	good("speaker", "speaker", specified, list(device("audiooutput")))
	good("camera", "camera", specified, list(device("videoinput")))
	good("related", "two devices, related to each other", specified, list(
		device("audioinput", fields{"related": []string{"conformance-check-audiooutput"}}),
		device("audiooutput", fields{"related": []string{"conformance-check-audioinput"}})))
	good("related-stranger", "related to an id not in the list", nothing, input(fields{"related": []string{"conformance-check-none"}}))
	good("no-names", "vendor, model without name and url", nothing, input(fields{"vendor": fields{}, "model": fields{}}))
	good("same-id", "two devices with one id", nothing,
		list(device("audiooutput"), device("audioinput", fields{"id": "conformance-check-audiooutput"})))
	good("flag-on-speaker", "flag on a speaker", nothing, list(device("audiooutput", fields{"hardware_mute": true})))

	bad("type-unknown", "type unknown", invalid, list(device("conformance")))
	bad("type-missing", "type missing", invalid, input(fields{"type": nil}))
	bad("id-empty", "id empty", invalid, input(fields{"id": ""}))
	bad("id-missing", "id missing", invalid, input(fields{"id": nil}))
	bad("id-null", "id null", invalid, input(fields{"id": null}))
	bad("vendor-missing", "vendor missing", invalid, input(fields{"vendor": nil}))
	bad("vendor-null", "vendor null", invalid, input(fields{"vendor": null}))
	bad("model-missing", "model missing", invalid, input(fields{"model": nil}))
	bad("vendor-name-empty", "vendor.name empty", invalid, input(fields{"vendor": fields{"name": ""}}))
	bad("vendor-url-empty", "vendor.url empty", invalid, input(fields{"vendor": fields{"url": ""}}))
	bad("model-name-empty", "model.name empty", invalid, input(fields{"model": fields{"name": ""}}))
	bad("model-url-empty", "model.url empty", invalid, input(fields{"model": fields{"url": ""}}))
	bad("flag-text", "flag is a text", invalid, input(fields{"hardware_mute": "true"}))
	bad("flag-null", "flag is null", invalid, input(fields{"hardware_mute": null}))
	bad("related-missing", "related missing", fails, input(fields{"related": nil}))
	bad("related-empty-id", "related holds an empty id", invalid, input(fields{"related": []string{""}}))
	bad("related-number", "related holds a number", invalid, input(fields{"related": []int{1}}))
	bad("one-bad", "one good device, one bad", invalid, list(device("audioinput"), device("audiooutput", fields{"id": ""})))
	bad("unknown-key", "unknown key in a device", says(Ran, success), input(fields{"conformance": true}))
	bad("unknown-vendor-key", "unknown key in vendor", says(Ran, success), input(fields{"vendor": fields{"conformance": true}}))
	bad("devices-missing", "devices missing", fails, fields{})
	bad("devices-object", "devices is an object", invalid, fields{"devices": fields{}})
	add("args-missing", "args missing", nothing, invalid, payload{noArgs: true})
	add("nonce-missing", "nonce missing", nothing, invalid, payload{noNonce: true})
	add("nonce-empty", "nonce empty", nothing, invalid, payload{voidNonce: true})
	add("nonce-null", "nonce null", nothing, says(Ran, "ERROR 4000"), payload{oddNonce: null})
	add("nonce-zero", "nonce 0", nothing, says(Ran, success), payload{oddNonce: 0})
	add("nonce-object", "nonce is an object", nothing, says(Ran, success), payload{oddNonce: fields{"conformance": true}})
	add("unknown-cmd", "unknown cmd", nothing, says(Read, "ERROR 4002"), payload{cmd: "CONFORMANCE"})
	good("empty-list", "empty list", specified, list())
	return all
}

// askAnywhere sends a command over a transport that takes commands.
func (r *run) askAnywhere(ctx context.Context, p payload) (outcome, error) {
	if why := r.uncarried(); why != "" {
		return skipped(why), nil
	}
	t := r.carrier()
	o, err := r.ask(ctx, t, p)
	o.via = t
	return o, err
}

// uncarried says why payloads are not tried; "" when they are.
func (r *run) uncarried() string {
	switch t := r.carrier(); {
	case t == "":
		return "no transport takes commands"
	case t == HTTP && !r.opts.All:
		return needsAll
	}
	return ""
}

// carrier is the transport on which a command costs least of those that take commands; "" for none.
func (r *run) carrier() Transport {
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
	l, o, err := r.link(ctx, t)
	if l == nil {
		return o, err
	}
	before := r.dirty
	r.dirty = before || p.sets()
	o, err = l.ask(ctx, r.compose(p), r.opts.Patience)
	r.settle(p, o, before)
	return o, err
}

// settle notes what the server may hold after an answer; before says whether
// it may have held devices of a check already.
func (r *run) settle(p payload, o outcome, before bool) {
	switch {
	case strings.Contains(o.got, "ERROR"), strings.HasPrefix(o.got, "400 code"):
		r.dirty = before
	case !p.sets() && (o.got == success || o.got == httpSuccess):
		r.dirty = false
	}
}
