package pulse

import (
	"bufio"
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fuzzReply fuzzes the parser of one kind of reply, from real replies, in both wire forms.
func fuzzReply[T any](f *testing.F, file string, parse func([]byte, uint32) (T, error), check func(*testing.T, T)) {
	for _, r := range recordings(f) {
		if !r.has(file) {
			continue
		}
		b := r.read(f, file)
		f.Add(b, uint32(ourVersion))
		f.Add(b, uint32(oldestVersion))
	}
	f.Fuzz(func(t *testing.T, b []byte, version uint32) {
		v, err := parse(b, version)
		if err != nil {
			require.ErrorIs(t, err, errMalformed)
			require.Empty(t, v)
			return
		}
		check(t, v)
	})
}

func list[T any](entry func(*decoder) T) func([]byte, uint32) ([]T, error) {
	return func(b []byte, version uint32) ([]T, error) { return parse(b, version, listOf(entry)) }
}

func requireText(t *testing.T, texts ...string) {
	for _, s := range texts {
		require.True(t, utf8.ValidString(s))
		require.NotContains(t, s, "\x00")
	}
}

func requireProps(t *testing.T, props map[string]string) {
	require.NotNil(t, props)
	for k, v := range props {
		requireText(t, k, v)
	}
}

func requireDevice(t *testing.T, d Device) {
	requireText(t, d.Name, d.Description)
	requireProps(t, d.Properties)
}

func FuzzSources(f *testing.F) {
	fuzzReply(f, "sources.bin", list(source), func(t *testing.T, all []Source) {
		for _, s := range all {
			requireDevice(t, s.Device)
			requireText(t, s.MonitorOfSink)
			ProcessingOf([]EchoCancel{{}, {native: true}}, s)
			Snapshot{Sources: all, Outputs: []SourceOutput{{}}}.MasterOf(s)
		}
	})
}

func FuzzSinks(f *testing.F) {
	fuzzReply(f, "sinks.bin", list(sink), func(t *testing.T, all []Sink) {
		for _, s := range all {
			requireDevice(t, s.Device)
		}
	})
}

func FuzzCards(f *testing.F) {
	fuzzReply(f, "cards.bin", list(card), func(t *testing.T, all []Card) {
		for _, c := range all {
			requireProps(t, c.Properties)
		}
	})
}

func FuzzSourceOutputs(f *testing.F) {
	fuzzReply(f, "outputs.bin", list(sourceOutput), func(t *testing.T, all []SourceOutput) {
		for _, o := range all {
			requireProps(t, o.Properties)
		}
	})
}

func FuzzModules(f *testing.F) {
	fuzzReply(f, "modules.bin", list(module), func(t *testing.T, all []Module) {
		for _, m := range all {
			requireText(t, m.Name, m.Argument)
		}
		EchoCancels(ServerInfo{}, all)
	})
}

func FuzzServerInfo(f *testing.F) {
	one := func(b []byte, version uint32) (ServerInfo, error) { return parse(b, version, serverInfo) }
	fuzzReply(f, "server.bin", one, func(t *testing.T, s ServerInfo) {
		requireText(t, s.PackageName, s.PackageVersion, s.DefaultSink, s.DefaultSource)
	})
}

// FuzzFrames feeds the reader with what a broken or hostile server may send.
func FuzzFrames(f *testing.F) {
	for _, r := range recordings(f) {
		b := r.read(f, "sources.bin")
		f.Add(append(msg(cmdReply, 0, func(e *encoder) { e.b = append(e.b, b...) }), event(OnSource, Change, 1)...))
	}
	f.Add(msg(cmdError, 0, func(e *encoder) { e.u32(5) }))
	f.Fuzz(func(t *testing.T, b []byte) {
		answer := make(chan reply, 1)
		c := &Conn{pending: map[uint32]chan reply{0: answer}, onEvent: func(Facility, EventType, uint32) {}}
		r := bufio.NewReader(bytes.NewReader(b))
		for c.readFrame(r) == nil { // each frame takes bytes, so this ends
		}
		select {
		case got := <-answer:
			require.LessOrEqual(t, len(got.body), len(b))
		default:
			require.LessOrEqual(t, len(c.pending), 1)
		}
	})
}

// FuzzEffects feeds the readers of module arguments, which users write by hand.
func FuzzEffects(f *testing.F) {
	for _, r := range recordings(f) {
		for _, m := range r.parse(f).Modules {
			f.Add(m.Argument)
		}
	}
	f.Add(`source_name="a b" aec_args='x=1 y=\"2\"' aec_method=webrtc`)
	f.Add(`{ aec.args = { webrtc.gain_control = true } source.props = { node.name = "x" l = [ 1 { a = b } ] } # c`)
	f.Fuzz(func(t *testing.T, arg string) {
		for _, server := range []string{"pulseaudio", "PulseAudio (on PipeWire 1.0.5)"} {
			for _, name := range []string{"module-echo-cancel", "libpipewire-module-echo-cancel"} {
				got := EchoCancels(ServerInfo{PackageName: server}, []Module{{Index: 3, Name: name, Argument: arg}})
				require.Len(t, got, 1)
				require.Equal(t, uint32(3), got[0].Module)
			}
		}
	})
}
