package main

import (
	"context"
	"errors"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

// openSound starts a private sound server with a headset in it.
func openSound(kind testlab.SoundKind) openLab {
	return func(ctx context.Context, b *bench) (*lab, error) {
		server, err := testlab.StartSound(ctx, kind)
		if err != nil {
			return nil, err
		}
		button, err := pulse.Dial(ctx, server.Socket(), pulse.Options{Name: "bench button"})
		if err != nil {
			return nil, errors.Join(err, server.Close())
		}
		l := &lab{
			bench: b, kind: string(kind), what: "mute on " + string(kind), p50: limit{ratio: 1.5}, p99: limit{ratio: 2},
			close: func() error { return errors.Join(button.Close(), server.Close()) },
		}
		if kind == testlab.PulseAudio {
			l.p50.ratio = 1.35
		}
		return l.opened(ctx, l.setUp(ctx, server, button))
	}
}

// setUp plugs in the headset, and writes the files that the agent reads.
func (l *lab) setUp(ctx context.Context, server *testlab.SoundServer, button *pulse.Conn) error {
	info, err := button.ServerInfo(ctx)
	if err != nil {
		return err
	}
	l.servers[l.kind] = info.PackageName + " " + info.PackageVersion
	headset, err := server.PlugHeadset(ctx, testlab.Headset700)
	if err != nil {
		return err
	}
	l.press = func(ctx context.Context, mute bool) error { // returns when the server has done it
		ctx, cancel := context.WithTimeout(ctx, stepLimit)
		defer cancel()
		return button.SetSourceMute(ctx, headset.SourceName, mute)
	}
	l.bareArgs = []string{soundBare, server.Socket(), headset.SourceName}
	return l.useExample(server.Env(), "XDG_CONFIG_HOME")
}
