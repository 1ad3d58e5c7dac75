package pulse

import (
	"cmp"
	"strconv"
	"strings"

	"sidetone/internal/devices"
)

// EchoCancel is what is known of one loaded echo canceller: which devices it made, of which
// microphone, and what it does to the sound. A field that cannot be derived is "" or Unknown.
type EchoCancel struct {
	Module           uint32 // index of the module
	SourceName       string // the source that it made
	SourceMaster     string // the source whose sound it cleans
	SinkName         string // the sink that it made
	EchoCancellation devices.Tri
	NoiseSuppression devices.Tri
	GainControl      devices.Tri

	native bool // loaded by PipeWire itself, not through the PulseAudio protocol
}

// EchoCancels returns the echo cancellers among modules. It reads their arguments and fills
// in the defaults of the server that runs them, where these are the same in every version.
func EchoCancels(server ServerInfo, modules []Module) []EchoCancel {
	onPipeWire := strings.Contains(server.PackageName, "PipeWire")
	var list []EchoCancel
	for _, m := range modules {
		switch {
		case m.Name == "libpipewire-module-echo-cancel":
			list = append(list, nativeEchoCancel(m))
		case m.Name == "module-echo-cancel" && onPipeWire:
			list = append(list, pipeWirePulseEchoCancel(m))
		case m.Name == "module-echo-cancel":
			list = append(list, pulseAudioEchoCancel(m))
		}
	}
	return list
}

// made reports whether s is the source that e made.
func (e EchoCancel) made(s Source) bool {
	if s.IsMonitor() {
		return false
	}
	index := strconv.FormatUint(uint64(e.Module), 10)
	switch group := s.Properties["node.group"]; {
	case e.native && strings.HasPrefix(group, "echo-cancel-"): // echo-cancel-<process>-<module>
		return s.Name == e.SourceName && strings.HasSuffix(group, "-"+index)
	case !e.native && s.OwnerModule != InvalidIndex:
		return s.OwnerModule == e.Module
	case !e.native && s.Properties["pulse.module.id"] != "":
		return s.Properties["pulse.module.id"] == index
	}
	return e.SourceName != "" && s.Name == e.SourceName
}

// ProcessingOf returns what is known of the processing behind source s. ok is false if no
// echo canceller made it. PipeWire allows several sources of one name: what their cancellers
// disagree on is unknown.
func ProcessingOf(cancels []EchoCancel, s Source) (e EchoCancel, ok bool) {
	for _, c := range cancels {
		switch {
		case !c.made(s):
		case !ok:
			e, ok = c, true
		default:
			e = agreement(e, c)
		}
	}
	return e, ok
}

func agreement(a, b EchoCancel) EchoCancel {
	a.EchoCancellation = agree(a.EchoCancellation, b.EchoCancellation)
	a.NoiseSuppression = agree(a.NoiseSuppression, b.NoiseSuppression)
	a.GainControl = agree(a.GainControl, b.GainControl)
	if a.SourceMaster != b.SourceMaster {
		a.SourceMaster = ""
	}
	if a.SinkName != b.SinkName {
		a.SinkName = ""
	}
	return a
}

// agree is the value that a and b share, otherwise unknown.
func agree(a, b devices.Tri) devices.Tri {
	if a == b {
		return a
	}
	return devices.Unknown
}

// pulseAudioEchoCancel knows PulseAudio's own module. Its default method is webrtc, or speex
// in builds without webrtc; both clean, suppress noise and control gain unless told not to,
// and they share no argument name, so that the arguments tell them apart. The method adrian
// only cancels echo, null copies. Names default to the master's name and ".echo-cancel".
func pulseAudioEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index}
	args, ok := moduleArguments(m.Argument)
	if !ok {
		return e
	}
	e.SourceMaster = args["source_master"]
	e.SourceName = nameOr(args["source_name"], e.SourceMaster)
	e.SinkName = nameOr(args["sink_name"], args["sink_master"])
	knobs, ok := moduleArguments(args["aec_args"])
	if !ok {
		return e
	}
	switch method := args["aec_method"]; method {
	case "null":
		e.EchoCancellation, e.NoiseSuppression, e.GainControl = devices.False, devices.False, devices.False
	case "adrian":
		e.EchoCancellation, e.NoiseSuppression, e.GainControl = devices.True, devices.False, devices.False
	case "", "webrtc", "speex":
		e.EchoCancellation = devices.True
		e.NoiseSuppression, e.GainControl = webrtcOrSpeex(method, knobs)
	}
	return e
}

func webrtcOrSpeex(method string, knobs map[string]string) (noise, gain devices.Tri) {
	speex := method == "speex"
	if method == "" {
		for _, k := range []string{"agc", "denoise", "echo_suppress"} {
			_, has := knobs[k]
			speex = speex || has
		}
	}
	if speex {
		return boolOr(knobs, "denoise", devices.True), boolOr(knobs, "agc", devices.True)
	}
	// Analogue gain control is on and digital is off by default, one of them at most can be on.
	noise = boolOr(knobs, "noise_suppression", devices.True)
	gain = or(boolOr(knobs, "analog_gain_control", devices.True), boolOr(knobs, "digital_gain_control", devices.False))
	return noise, gain
}

func nameOr(name, master string) string {
	if name == "" && master != "" {
		return master + ".echo-cancel"
	}
	return name
}

// pipeWirePulseEchoCancel knows the module of pipewire-pulse, which takes the arguments of
// PulseAudio's. Old versions (0.3.65 for one) always run webrtc and overlook aec_args in
// PulseAudio's words, new ones translate them; a value is known where both come to the same.
func pipeWirePulseEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index}
	args, ok := moduleArguments(m.Argument)
	if !ok {
		return e
	}
	e.SourceMaster = args["source_master"]
	e.SourceName = cmp.Or(args["source_name"], pipeWireSource)
	e.SinkName = cmp.Or(args["sink_name"], pipeWireSink)
	if method := args["aec_method"]; method != "" && method != "webrtc" {
		return e
	}
	e.EchoCancellation = devices.True
	knobs, ok := moduleArguments(args["aec_args"])
	if !ok {
		return e
	}
	oldNoise := spaBoolOr(knobs, webrtcNoise, devices.True)
	oldGain := spaBoolOr(knobs, webrtcGain, devices.False)
	newNoise := boolOr(knobs, "noise_suppression", oldNoise)
	// The digital setting is translated last, to the same name as the analogue one.
	newGain := boolOr(knobs, "digital_gain_control", boolOr(knobs, "analog_gain_control", oldGain))
	e.NoiseSuppression, e.GainControl = agree(oldNoise, newNoise), agree(oldGain, newGain)
	return e
}

// PipeWire's names and knobs.
const (
	pipeWireSource  = "echo-cancel-source"
	pipeWireSink    = "echo-cancel-sink"
	pipeWireLibrary = "aec/libspa-aec-webrtc"
	webrtcNoise     = "webrtc.noise_suppression"
	webrtcGain      = "webrtc.gain_control"
)

// nativeEchoCancel knows PipeWire's own module, which is loaded by a configuration file.
func nativeEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index, native: true}
	args, ok := spaObject(m.Argument)
	if !ok {
		return e
	}
	e.SourceName = cmp.Or(spaText(spaSub(args, "source.props"), "node.name"), pipeWireSource)
	e.SinkName = cmp.Or(spaText(spaSub(args, "sink.props"), "node.name"), pipeWireSink)
	capture := spaSub(args, "capture.props")
	e.SourceMaster = nodeName(cmp.Or(spaText(capture, "target.object"), spaText(capture, "node.target")))
	if cmp.Or(spaText(args, "library.name"), pipeWireLibrary) != pipeWireLibrary {
		return e
	}
	e.EchoCancellation = devices.True
	knobs, ok := spaKnobs(args["aec.args"])
	if !ok {
		return e
	}
	e.NoiseSuppression = spaBoolOr(knobs, webrtcNoise, devices.True)
	e.GainControl = spaBoolOr(knobs, webrtcGain, devices.False)
	return e
}

// spaKnobs reads aec.args, which may be an object or a text that holds one.
func spaKnobs(v any) (map[string]string, bool) {
	knobs := make(map[string]string)
	object, _ := v.(map[string]any)
	if text, isText := v.(string); isText {
		var ok bool
		if object, ok = spaObject(text); !ok {
			return nil, false
		}
	}
	for k := range object {
		knobs[k] = spaText(object, k)
	}
	return knobs, true
}

func spaSub(m map[string]any, key string) map[string]any {
	sub, _ := m[key].(map[string]any)
	return sub
}

func spaText(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// nodeName is target unless it is the number of an object, which is not a name.
func nodeName(target string) string {
	if _, err := strconv.ParseInt(target, 10, 64); err == nil {
		return ""
	}
	return target
}

// boolOr is the value of a knob in PulseAudio's words, fallback if it is not there, unknown
// if it is no boolean.
func boolOr(knobs map[string]string, key string, fallback devices.Tri) devices.Tri {
	value, ok := knobs[key]
	if !ok {
		return fallback
	}
	switch strings.ToLower(value) {
	case "1", "y", "yes", "t", "true", "on":
		return devices.True
	case "0", "n", "no", "f", "false", "off":
		return devices.False
	default:
		return devices.Unknown
	}
}

// spaBoolOr is boolOr for a knob in PipeWire's words, which are fewer: "yes" means no there.
func spaBoolOr(knobs map[string]string, key string, fallback devices.Tri) devices.Tri {
	switch value, ok := knobs[key]; {
	case !ok:
		return fallback
	case value == "true", value == "1":
		return devices.True
	case value == "false", value == "0":
		return devices.False
	default:
		return devices.Unknown
	}
}

// or is true if either is, false if both are.
func or(a, b devices.Tri) devices.Tri { return a.Not().And(b.Not()).Not() }
