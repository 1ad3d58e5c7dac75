package main

import (
	"context"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

// openSound starts a private sound server with a headset in it.
func openSound(kind testlab.SoundKind) openLab {
	return func(ctx context.Context, b *bench) *lab {
		b.step = "prepare " + string(kind)
		server, err := testlab.StartSound(ctx, kind)
		b.check(err)
		b.cleanup(server.Close)
		button, err := pulse.Dial(ctx, server.Socket(), pulse.Options{Name: "bench button"})
		b.check(err)
		b.cleanup(button.Close)
		all, err := button.Snapshot(ctx)
		b.check(err)
		b.servers[string(kind)] = all.Server.PackageName + " " + all.Server.PackageVersion
		headset, err := server.PlugHeadset(ctx, testlab.Headset700)
		b.check(err)
		l := &lab{
			bench: b, kind: string(kind), what: "mute on " + string(kind), p50: limit{ratio: 1.5}, p99: limit{ratio: 2},
			press: func(ctx context.Context, mute bool) error { // returns when the server has done it
				ctx, cancel := context.WithTimeout(ctx, stepLimit)
				defer cancel()
				return button.SetSourceMute(ctx, headset.SourceName, mute)
			},
			bareArgs: []string{soundBare, server.Socket(), headset.SourceName},
		}
		if kind == testlab.PulseAudio {
			l.p50.ratio = 1.35
		}
		l.useExample(server.Env(), "XDG_CONFIG_HOME")
		l.capture(ctx)
		b.step = ""
		return l
	}
}
