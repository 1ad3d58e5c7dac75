package main

import (
	"context"
	"errors"
	"os"

	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
)

// openCoreAudio plugs a headset into the stand-in for Core Audio, which tools/windows/bench.sh has installed.
func openCoreAudio(ctx context.Context, b *bench) *lab {
	shared, err := wasapitest.Open()
	b.check(err)
	headset := wasapitest.Headset700()
	b.check(errors.Join(shared.Put(headset[0], true), shared.Put(headset[1], true)))
	leave, err := com.Enter()
	b.check(err)
	b.cleanup(func() error { leave(); return nil })
	volume, err := wasapitest.OpenVolume(headset[0].ID)
	b.check(err)
	l := &lab{
		bench: b, kind: "Core Audio by another process", ratio: 1.5,
		press:    func(_ context.Context, mute bool) error { return volume.SetMute(mute) },
		bareArgs: []string{headset[0].ID},
	}
	l.useExample(os.Environ(), "APPDATA", "LOCALAPPDATA")
	l.capture(ctx)
	return l
}

// follow reports the mute of an endpoint. from holds its id.
func follow(ctx context.Context, b *bare, from []string) error {
	leave, err := com.Enter()
	if err != nil {
		return err
	}
	defer leave()
	if len(from) != 1 {
		return errors.New("the bare path from Core Audio needs the id of an endpoint")
	}
	volume, err := wasapitest.OpenVolume(from[0])
	if err != nil {
		return err
	}
	mutes := make(chan bool, 1)
	if err := volume.Listen(func(mute bool) { mutes <- mute }); err != nil {
		return err
	}
	mute, err := volume.Mute()
	if err != nil {
		return err
	}
	for {
		if err := b.report(mute); err != nil {
			return err
		}
		select {
		case mute = <-mutes:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
