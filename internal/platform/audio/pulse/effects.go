package pulse

import (
	"cmp"
	"strconv"
	"strings"

	"sidetone/internal/devices"
)

// EchoCancel describes a loaded echo canceller: the source that it has made, and what it does to the sound. Unknown
// fields are "" or Unknown.
type EchoCancel struct {
	Module           uint32 // index of the module
	SourceName       string // the source that it has made
	EchoCancellation devices.Tri
	NoiseSuppression devices.Tri
	GainControl      devices.Tri

	native bool // loaded by PipeWire itself, not through the PulseAudio protocol
}

// EchoCancels returns the echo cancellers among modules. It reads their arguments and adds the defaults of the server, where they are the
// same in all its versions.
func EchoCancels(server ServerInfo, modules []Module) []EchoCancel {
	onPipeWire := server.OnPipeWire()
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

// made reports whether e has made the source s.
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

// ProcessingOf returns the processing of source s; ok is false if no echo canceller has made it. PipeWire allows several sources of one
// name: what their cancellers disagree on is unknown.
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
	return a
}

// agree returns the value that a and b share, else Unknown.
func agree(a, b devices.Tri) devices.Tri {
	if a == b {
		return a
	}
	return devices.Unknown
}

// pulseAudioEchoCancel reads the arguments of PulseAudio's own module. Its default method is webrtc, or speex in builds without webrtc.
// Both cancel echo, suppress noise and control gain unless told not to, and share no argument names, so the arguments reveal the method.
// The method adrian only cancels echo, null only copies. The name defaults to the master's name and ".echo-cancel".
func pulseAudioEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index}
	args, ok := moduleArguments(m.Argument)
	if !ok {
		return e
	}
	e.SourceName = args["source_name"]
	if master := args["source_master"]; e.SourceName == "" && master != "" {
		e.SourceName = master + ".echo-cancel"
	}
	options, ok := moduleArguments(args["aec_args"])
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
		e.NoiseSuppression, e.GainControl = webrtcOrSpeex(method, options)
	}
	return e
}

func webrtcOrSpeex(method string, options map[string]string) (noise, gain devices.Tri) {
	speex := method == "speex"
	if method == "" {
		for _, k := range []string{"agc", "denoise", "echo_suppress"} {
			_, has := options[k]
			speex = speex || has
		}
	}
	if speex {
		return boolOr(options, "denoise", devices.True), boolOr(options, "agc", devices.True)
	}
	// Analogue gain control is on and digital is off by default, one of them at most can be on.
	noise = boolOr(options, "noise_suppression", devices.True)
	gain = or(boolOr(options, "analog_gain_control", devices.True), boolOr(options, "digital_gain_control", devices.False))
	return noise, gain
}

// pipeWirePulseEchoCancel reads the arguments of the module of pipewire-pulse, which are those of PulseAudio's. Old versions (such as
// 0.3.65) always use webrtc and ignore PulseAudio's aec_args, new ones translate them; a value is known if both give the same.
func pipeWirePulseEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index}
	args, ok := moduleArguments(m.Argument)
	if !ok {
		return e
	}
	e.SourceName = cmp.Or(args["source_name"], pipeWireSource)
	if method := args["aec_method"]; method != "" && method != "webrtc" {
		return e
	}
	e.EchoCancellation = devices.True
	options, ok := moduleArguments(args["aec_args"])
	if !ok {
		return e
	}
	oldNoise := spaBoolOr(options, webrtcNoise, devices.True)
	oldGain := spaBoolOr(options, webrtcGain, devices.False)
	newNoise := boolOr(options, "noise_suppression", oldNoise)
	// The digital setting is translated last, to the same name as the analogue one.
	newGain := boolOr(options, "digital_gain_control", boolOr(options, "analog_gain_control", oldGain))
	e.NoiseSuppression, e.GainControl = agree(oldNoise, newNoise), agree(oldGain, newGain)
	return e
}

// Names and options of PipeWire.
const (
	pipeWireSource  = "echo-cancel-source"
	pipeWireLibrary = "aec/libspa-aec-webrtc"
	webrtcNoise     = "webrtc.noise_suppression"
	webrtcGain      = "webrtc.gain_control"
)

// nativeEchoCancel reads the arguments of PipeWire's own module, which a configuration file loads.
func nativeEchoCancel(m Module) EchoCancel {
	e := EchoCancel{Module: m.Index, native: true}
	args, ok := spaObject(m.Argument)
	if !ok {
		return e
	}
	e.SourceName = cmp.Or(spaText(spaSub(args, "source.props"), "node.name"), pipeWireSource)
	if cmp.Or(spaText(args, "library.name"), pipeWireLibrary) != pipeWireLibrary {
		return e
	}
	e.EchoCancellation = devices.True
	options, ok := spaOptions(args["aec.args"])
	if !ok {
		return e
	}
	e.NoiseSuppression = spaBoolOr(options, webrtcNoise, devices.True)
	e.GainControl = spaBoolOr(options, webrtcGain, devices.False)
	return e
}

// spaOptions reads aec.args, an object or a text that contains one.
func spaOptions(v any) (map[string]string, bool) {
	options := make(map[string]string)
	object, _ := v.(map[string]any)
	if text, isText := v.(string); isText {
		var ok bool
		if object, ok = spaObject(text); !ok {
			return nil, false
		}
	}
	for k := range object {
		options[k] = spaText(object, k)
	}
	return options, true
}

func spaSub(m map[string]any, key string) map[string]any {
	sub, _ := m[key].(map[string]any)
	return sub
}

func spaText(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// boolOr returns the value of a PulseAudio option, fallback if it is missing, and Unknown if it is no boolean.
func boolOr(options map[string]string, key string, fallback devices.Tri) devices.Tri {
	value, ok := options[key]
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

// spaBoolOr is boolOr for an option of PipeWire, which accepts fewer words: "yes" means no.
func spaBoolOr(options map[string]string, key string, fallback devices.Tri) devices.Tri {
	switch value, ok := options[key]; {
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

// or is true if either is, and false if both are.
func or(a, b devices.Tri) devices.Tri { return a.Not().And(b.Not()).Not() }
