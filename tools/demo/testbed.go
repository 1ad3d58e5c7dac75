package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sidetone/internal/config"
	"sidetone/internal/testlab"
)

// testbed is what the demo's headset is plugged into.
type testbed interface {
	what() string
	sources() config.Sources
	plug(ctx context.Context) error
	mute(ctx context.Context, on bool) error
	unplug(ctx context.Context) error
	close()
}

func newTestbed(ctx context.Context, talk io.Writer) (testbed, error) {
	err := testlab.SoundAvailable(testlab.PulseAudio)
	if err == nil {
		var server *testlab.SoundServer
		if server, err = testlab.StartSound(ctx, testlab.PulseAudio); err == nil {
			return &soundServer{server: server}, server.Adopt() // this process plays the agent
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	fmt.Fprintf(talk, "no PulseAudio here, an endpoint file takes its place: %v\n", err)
	dir, err := os.MkdirTemp("", "sidetone-demo")
	if err != nil {
		return nil, err
	}
	s := &endpointFile{dir: dir}
	return s, s.write("")
}

// soundServer is a real PulseAudio of its own with a virtual headset.
type soundServer struct {
	server  *testlab.SoundServer
	plugged *testlab.PluggedHeadset
}

func (s *soundServer) what() string { return "a private PulseAudio" }

func (s *soundServer) sources() config.Sources {
	return config.Sources{Audio: true, PulseServer: "unix:" + s.server.Socket()}
}

func (s *soundServer) plug(ctx context.Context) (err error) {
	s.plugged, err = s.server.PlugHeadset(ctx, testlab.Headset{
		Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
	})
	return err
}

func (s *soundServer) mute(ctx context.Context, on bool) error { return s.plugged.SetMute(ctx, on) }
func (s *soundServer) unplug(ctx context.Context) error        { return s.plugged.Unplug(ctx) }
func (s *soundServer) close()                                  { _ = s.server.Close() }

// endpointFile is a file that lists the headset's endpoints.
type endpointFile struct{ dir string }

func (s *endpointFile) what() string { return "an endpoint file" }
func (s *endpointFile) path() string { return filepath.Join(s.dir, "endpoints.yaml") }

func (s *endpointFile) sources() config.Sources { return config.Sources{Files: []string{s.path()}} }

func (s *endpointFile) write(endpoints string) error {
	return os.WriteFile(s.path(), []byte("endpoints: ["+endpoints+"]\n"), 0o600)
}

func (s *endpointFile) put(mute bool) error {
	const hardware = `name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A700-0001`
	return s.write(fmt.Sprintf("{id: mic, type: audioinput, mute: %t, %s}, {id: speaker, type: audiooutput, %s}", mute, hardware, hardware))
}

func (s *endpointFile) plug(context.Context) error            { return s.put(false) }
func (s *endpointFile) mute(_ context.Context, on bool) error { return s.put(on) }
func (s *endpointFile) unplug(context.Context) error          { return s.write("") }
func (s *endpointFile) close()                                { _ = os.RemoveAll(s.dir) }
