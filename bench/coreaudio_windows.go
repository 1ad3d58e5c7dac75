package main

import (
	"context"
	"errors"
	"os"

	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
)

// coreAudioBare is the first argument of the bare path from Core Audio.
const coreAudioBare = "bare-path"

// openCoreAudio plugs a headset into the stand-in for Core Audio, which tools/windows/bench.sh has installed.
func openCoreAudio(ctx context.Context, b *bench) (*lab, error) {
	shared, err := wasapitest.Open()
	if err != nil {
		return nil, err
	}
	headset := wasapitest.Headset700()
	if err := errors.Join(shared.Put(headset[0], true), shared.Put(headset[1], true)); err != nil {
		return nil, err
	}
	leave, err := com.Enter()
	if err != nil {
		return nil, err
	}
	l := &lab{
		bench: b, kind: "Core Audio", what: "mute on Core Audio by another process", p50: limit{ratio: 1.5}, p99: limit{ratio: 2},
		close: func() error { leave(); return nil },
	}
	return l.opened(ctx, l.setUp(headset[0].ID))
}

// setUp makes this process mute the microphone, and writes the files that the agent reads.
func (l *lab) setUp(microphone string) error {
	volume, err := wasapitest.OpenVolume(microphone)
	if err != nil {
		return err
	}
	l.press = func(_ context.Context, mute bool) error { return volume.SetMute(mute) }
	l.bareArgs = []string{coreAudioBare, microphone}
	return l.useExample(os.Environ(), "APPDATA", "LOCALAPPDATA")
}

// followCoreAudio reports the mute of an endpoint. from holds its id.
func followCoreAudio(ctx context.Context, b *bare, from []string) error {
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
