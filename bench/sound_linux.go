package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
)

// openSound starts a private sound server with a headset in it. ratio is the target for the median of a press.
func openSound(kind testlab.SoundKind, ratio float64) openLab {
	return func(ctx context.Context, b *bench) *lab {
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
			bench: b, kind: string(kind), ratio: ratio,
			press: func(ctx context.Context, mute bool) error { // returns when the server has done it
				ctx, cancel := context.WithTimeout(ctx, stepLimit)
				defer cancel()
				return button.SetSourceMute(ctx, headset.SourceName, mute)
			},
			bareArgs: []string{server.Socket(), headset.SourceName},
		}
		l.useExample(server.Env(), "XDG_CONFIG_HOME")
		l.capture(ctx)
		return l
	}
}

// follow reports the mute of a source. from holds the sound server's socket and the source's name.
func follow(ctx context.Context, b *bare, from []string) error {
	if len(from) != 2 {
		return errors.New("the bare path from a sound server needs its socket and the name of a source")
	}
	events := signal.New()
	sound, err := pulse.Dial(ctx, from[0], pulse.Options{Name: "bare path", OnEvent: func(pulse.Facility, pulse.EventType, uint32) {
		events.Notify()
	}})
	if err != nil {
		return err
	}
	defer sound.Close()
	if err := sound.Subscribe(ctx, pulse.OnSource); err != nil {
		return err
	}
	all, err := sound.Snapshot(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Sources, func(s pulse.Source) bool { return s.Name == from[1] })
	if i < 0 {
		return fmt.Errorf("the sound server has no source %s", from[1])
	}
	if err := b.report(all.Sources[i].Mute); err != nil {
		return err
	}
	for {
		select {
		case <-events:
		case <-sound.Done():
			return sound.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		s, err := sound.Source(ctx, all.Sources[i].Index)
		if err == nil && s.Mute != b.sent {
			err = b.report(s.Mute)
		}
		if err != nil {
			return err
		}
	}
}
