package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/signal"
)

// With one of these as its first argument this program is a bare path instead of the bench: the least that could do the agent's
// job, and the baseline of most figures.
const (
	soundBare = "bare-path"      // reports the mute of a sound server
	hidBare   = "bare-hid-path"  // reports the mute of a HID device
	pushBare  = "bare-push-path" // reports what is pushed
)

// followSound reports the mute of a source. from holds the sound server's socket and the source's name.
func followSound(ctx context.Context, b *bare, from []string) error {
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

// followHID reports the mute in each HID report. from holds the path of the node.
func followHID(ctx context.Context, b *bare, from []string) error {
	node, err := os.Open(from[0])
	if err != nil {
		return err
	}
	defer node.Close()
	defer context.AfterFunc(ctx, func() { _ = node.Close() })()
	if err := b.report(false); err != nil {
		return err
	}
	report := make([]byte, 64)
	for {
		n, err := node.Read(report)
		if err != nil {
			return err
		}
		if n != len(muteReport(true)) || report[0] != phoneReport {
			return fmt.Errorf("the headset sent % x", report[:n])
		}
		if err := b.report(report[1]&1 != 0); err != nil {
			return err
		}
	}
}
