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
type testbed struct {
	what         string
	sources      config.Sources
	plug, unplug func(context.Context) error
	mute         func(ctx context.Context, on bool) error
	close        func() error
}

func newTestbed(ctx context.Context, talk io.Writer) (*testbed, error) {
	err := testlab.SoundAvailable(testlab.PulseAudio)
	if err == nil {
		var server *testlab.SoundServer
		if server, err = testlab.StartSound(ctx, testlab.PulseAudio); err == nil {
			return onSoundServer(server), server.Adopt() // this process plays the agent
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
	return onEndpointFile(dir)
}

// onSoundServer is a real PulseAudio of its own with a virtual headset.
func onSoundServer(server *testlab.SoundServer) *testbed {
	var headset *testlab.PluggedHeadset
	return &testbed{
		what:    "a private PulseAudio",
		sources: config.Sources{Audio: true, PulseServer: "unix:" + server.Socket()},
		plug: func(ctx context.Context) (err error) {
			headset, err = server.PlugHeadset(ctx, testlab.Headset700)
			return err
		},
		unplug: func(ctx context.Context) error { return headset.Unplug(ctx) },
		mute:   func(ctx context.Context, on bool) error { return headset.SetMute(ctx, on) },
		close:  server.Close,
	}
}

// onEndpointFile is a file in dir that lists the headset's endpoints.
func onEndpointFile(dir string) (*testbed, error) {
	path := filepath.Join(dir, "endpoints.yaml")
	write := func(endpoints string) error {
		return os.WriteFile(path, []byte("endpoints: ["+endpoints+"]\n"), 0o600)
	}
	put := func(mute bool) error {
		const hardware = `name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A700-0001`
		return write(fmt.Sprintf("{id: mic, type: audioinput, mute: %t, %s}, {id: speaker, type: audiooutput, %s}", mute, hardware, hardware))
	}
	return &testbed{
		what:    "an endpoint file",
		sources: config.Sources{Files: []string{path}},
		plug:    func(context.Context) error { return put(false) },
		unplug:  func(context.Context) error { return write("") },
		mute:    func(_ context.Context, on bool) error { return put(on) },
		close:   func() error { return os.RemoveAll(dir) },
	}, write("")
}
