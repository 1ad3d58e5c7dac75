package pulse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

const (
	yes     = devices.True
	no      = devices.False
	unknown = devices.Unknown
)

var (
	onPulseAudio = ServerInfo{PackageName: "pulseaudio", PackageVersion: "16.1"}
	onPipeWire   = ServerInfo{PackageName: "PulseAudio (on PipeWire 0.3.65)", PackageVersion: "15.0.0"}
)

func TestEchoCancels(t *testing.T) {
	type want struct {
		source            string
		echo, noise, gain devices.Tri
	}
	for _, c := range []struct {
		server ServerInfo
		arg    string
		want   want
	}{
		// PulseAudio: webrtc and speex have everything on by default.
		{onPulseAudio, "", want{"", yes, yes, yes}},
		{onPulseAudio, "source_master=mic sink_master=spk", want{"mic.echo-cancel", yes, yes, yes}},
		{onPulseAudio, "source_name=ec source_master=mic sink_name=es aec_method=webrtc", want{"ec", yes, yes, yes}},
		{onPulseAudio, `source_name=ec aec_method=webrtc aec_args="analog_gain_control=0 noise_suppression=0"`, want{"ec", yes, no, no}},
		{onPulseAudio, `source_name=ec aec_args="analog_gain_control=0 digital_gain_control=1 noise_suppression=1"`, want{"ec", yes, yes, yes}},
		{onPulseAudio, `aec_args='noise_suppression=off analog_gain_control=No'`, want{"", yes, no, no}},
		{onPulseAudio, `aec_args=noise_suppression=0`, want{"", yes, no, yes}},
		{onPulseAudio, `aec_args=agc=0\ denoise=1`, want{"", yes, yes, no}},
		{onPulseAudio, `aec_args="noise_suppression=perhaps"`, want{"", yes, unknown, yes}},
		{onPulseAudio, `aec_method=speex`, want{"", yes, yes, yes}},
		{onPulseAudio, `aec_method=speex aec_args="agc=0 denoise=0"`, want{"", yes, no, no}},
		{onPulseAudio, `aec_method=adrian`, want{"", yes, no, no}},
		{onPulseAudio, `aec_method=null`, want{"", no, no, no}},
		{onPulseAudio, `source_name=ec aec_method=newest`, want{"ec", unknown, unknown, unknown}},
		{onPulseAudio, `source_name=ec aec_args="broken`, want{"", unknown, unknown, unknown}},
		{onPulseAudio, `source_name=ec aec_args="no pairs"`, want{"ec", unknown, unknown, unknown}},

		// pipewire-pulse: gain control is off by default. PulseAudio's words in aec_args are
		// overlooked by old versions (seen on 0.3.65) and translated by new ones.
		{onPipeWire, "", want{"echo-cancel-source", yes, yes, no}},
		{onPipeWire, "source_name=ec source_master=mic sink_name=es sink_master=spk", want{"ec", yes, yes, no}},
		{onPipeWire, `source_name=ec aec_args="analog_gain_control=1 noise_suppression=0"`, want{"ec", yes, unknown, unknown}},
		{onPipeWire, `source_name=ec aec_args="analog_gain_control=0 noise_suppression=1"`, want{"ec", yes, yes, no}},
		{onPipeWire, `source_name=ec aec_args="analog_gain_control=1 digital_gain_control=0"`, want{"ec", yes, yes, no}},
		{onPipeWire, `source_name=ec aec_args="webrtc.gain_control=true webrtc.noise_suppression=false"`, want{"ec", yes, no, yes}},
		{onPipeWire, `source_name=ec aec_args="webrtc.gain_control=yes"`, want{"ec", yes, yes, unknown}},
		{onPipeWire, `source_name=ec aec_args="{ webrtc.gain_control = true }"`, want{"ec", yes, unknown, unknown}},
		{onPipeWire, `source_name=ec aec_method=webrtc`, want{"ec", yes, yes, no}},
		{onPipeWire, `source_name=ec aec_method=null`, want{"ec", unknown, unknown, unknown}},
		{onPipeWire, `source_name="ec`, want{"", unknown, unknown, unknown}},
	} {
		t.Run(c.server.PackageName+" "+c.arg, func(t *testing.T) {
			got := EchoCancels(c.server, []Module{{Index: 9, Name: "module-echo-cancel", Argument: c.arg}})
			require.Equal(t, []EchoCancel{{
				Module: 9, SourceName: c.want.source,
				EchoCancellation: c.want.echo, NoiseSuppression: c.want.noise, GainControl: c.want.gain,
			}}, got)
		})
	}
}

func TestNativeEchoCancels(t *testing.T) {
	for arg, want := range map[string]EchoCancel{
		"":    {SourceName: "echo-cancel-source", EchoCancellation: yes, NoiseSuppression: yes, GainControl: no},
		"{ }": {SourceName: "echo-cancel-source", EchoCancellation: yes, NoiseSuppression: yes, GainControl: no},
		`{
		   # library.name = aec/libspa-aec-null
		   library.name = aec/libspa-aec-webrtc
		   aec.args = { webrtc.gain_control = true, "webrtc.noise_suppression": false }
		   monitor.mode = true
		   capture.props = { target.object = "alsa_input.x" node.target = old }
		   source.props = { node.name = "ec_src" node.description = "Desk \"mic\"" audio.position = [ FL FR ] }
		   sink.props = { node.name = ec_sink }
		}`: {SourceName: "ec_src", EchoCancellation: yes, NoiseSuppression: no, GainControl: yes},
		`{ aec.args = "webrtc.gain_control = 1" capture.props = { node.target = mic } }`: {
			SourceName: "echo-cancel-source", EchoCancellation: yes, NoiseSuppression: yes, GainControl: yes,
		},
		`{ aec.args = "{ webrtc.gain_control" capture.props = { target.object = 42 } }`: {
			SourceName: "echo-cancel-source", EchoCancellation: yes,
		},
		`{ aec.args = { webrtc.noise_suppression = on } }`: {
			SourceName: "echo-cancel-source", EchoCancellation: yes, GainControl: no,
		},
		`{ library.name = aec/libspa-aec-null }`: {SourceName: "echo-cancel-source"},
		`{ source.props = { node.name = "open }`: {},
	} {
		t.Run(arg, func(t *testing.T) {
			want.Module, want.native = 28, true
			for _, server := range []ServerInfo{onPipeWire, onPulseAudio} {
				require.Equal(t, []EchoCancel{want},
					EchoCancels(server, []Module{{Index: 28, Name: "libpipewire-module-echo-cancel", Argument: arg}}))
			}
		})
	}
}

func TestOtherModulesCancelNothing(t *testing.T) {
	require.Empty(t, EchoCancels(onPulseAudio, []Module{{Name: "module-remap-source", Argument: "master=mic"}, {}}))
}

func sourceNamed(name string, owner uint32, props map[string]string) Source {
	return Source{Device: Device{Name: name, OwnerModule: owner, Properties: props}, MonitorOfSinkIndex: InvalidIndex}
}

func TestMade(t *testing.T) {
	group := func(g string) map[string]string { return map[string]string{"node.group": g} }
	native := EchoCancel{Module: 28, SourceName: "echo-cancel-source", native: true}
	viaPulse := EchoCancel{Module: 536870916, SourceName: "ec"}
	onPA := EchoCancel{Module: 6}
	for name, c := range map[string]struct {
		e    EchoCancel
		s    Source
		want bool
	}{
		"PulseAudio by owner":         {onPA, sourceNamed("mic.echo-cancel", 6, nil), true},
		"PulseAudio other owner":      {EchoCancel{Module: 6, SourceName: "ec"}, sourceNamed("ec", 7, nil), false},
		"monitor of its sink":         {onPA, Source{Device: Device{OwnerModule: 6}, MonitorOfSink: "mic.echo-cancel", MonitorOfSinkIndex: 4}, false},
		"nameless and ownerless":      {onPA, sourceNamed("", InvalidIndex, nil), false},
		"0.3.65 by name":              {viaPulse, sourceNamed("ec", InvalidIndex, group("echo-cancel-6790-13")), true},
		"0.3.65 other name":           {viaPulse, sourceNamed("mic", InvalidIndex, nil), false},
		"newer by module id":          {viaPulse, sourceNamed("ec", InvalidIndex, map[string]string{"pulse.module.id": "536870916"}), true},
		"newer by other module id":    {viaPulse, sourceNamed("ec", InvalidIndex, map[string]string{"pulse.module.id": "536870917"}), false},
		"native by group":             {native, sourceNamed("echo-cancel-source", InvalidIndex, group("echo-cancel-7127-28")), true},
		"native, other module":        {native, sourceNamed("echo-cancel-source", InvalidIndex, group("echo-cancel-7127-128")), false},
		"native, number but not name": {native, sourceNamed("other", InvalidIndex, group("echo-cancel-99-28")), false},
		"native, group of the user":   {native, sourceNamed("echo-cancel-source", InvalidIndex, group("mine")), true},
	} {
		require.Equal(t, c.want, c.e.made(c.s), name)
	}
}

func TestProcessingOf(t *testing.T) {
	s := sourceNamed("ec", InvalidIndex, nil)
	_, ok := ProcessingOf(nil, s)
	require.False(t, ok)

	a := EchoCancel{Module: 1, SourceName: "ec", EchoCancellation: yes, NoiseSuppression: yes, GainControl: no}
	other := EchoCancel{Module: 2, SourceName: "other"}
	got, ok := ProcessingOf([]EchoCancel{other, a}, s)
	require.True(t, ok)
	require.Equal(t, a, got)

	b := EchoCancel{Module: 3, SourceName: "ec", EchoCancellation: yes, NoiseSuppression: no, GainControl: no}
	got, ok = ProcessingOf([]EchoCancel{a, b, other}, s)
	require.True(t, ok)
	require.Equal(t, EchoCancel{Module: 1, SourceName: "ec", EchoCancellation: yes, NoiseSuppression: unknown, GainControl: no}, got)
}

func TestModuleArguments(t *testing.T) {
	for in, want := range map[string]map[string]string{
		"":                  {},
		" \t\n":             {},
		"a=b":               {"a": "b"},
		"a=b  c=d ":         {"a": "b", "c": "d"},
		`a="b c" d='e "f"'`: {"a": "b c", "d": `e "f"`},
		`a=b\ c`:            {"a": "b c"},
		`a="b\"c"`:          {"a": `b"c`},
		"a=":                {"a": ""},
		`a="" b=1`:          {"a": "", "b": "1"},
		"a=1 a=2":           {"a": "2"},
		"a=b=c":             {"a": "b=c"},
	} {
		got, ok := moduleArguments(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"word", "a=b word", "=b", "a b=c", `a="b`, `a='b`, `a=b\`, `a="b\`} {
		_, ok := moduleArguments(in)
		require.False(t, ok, in)
	}
}

func TestSPAObject(t *testing.T) {
	type m = map[string]any
	for in, want := range map[string]m{
		"":                                       {},
		"{}":                                     {},
		"a=b":                                    {"a": "b"},
		"{ a: b, c = \"d e\" }":                  {"a": "b", "c": "d e"},
		`{"a":"b","c":{"d":"e"}}`:                {"a": "b", "c": m{"d": "e"}},
		"{ a = [ 1 [ 2 { b = c } ] ] d=e }":      {"a": nil, "d": "e"},
		"# nothing\n{ a = b # { c = d\n e = f }": {"a": "b", "e": "f"},
		`a="\\\"\n"`:                             {"a": `\"n`},
		"a=1 a=2":                                {"a": "2"},
	} {
		got, ok := spaObject(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{
		"{", "}", "a", "{ a", "{ a =", "{ a = }", "{ a = [ }", "{ a = [", "[", "a = ]", `a = "b`, "{ { } }",
		strings.Repeat("a={", 40) + strings.Repeat("}", 40), "a=" + strings.Repeat("[", 1<<20),
	} {
		_, ok := spaObject(in)
		require.False(t, ok, "%.60q", in)
	}
}
