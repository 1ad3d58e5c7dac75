//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"sidetone/fakeserver"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/signal"
)

// bareArgument makes this program the bare path instead of the bench.
const bareArgument = "bare-path"

// bare is the least that could do the agent's job, the baseline of most figures.
type bare struct {
	sound    *pulse.Conn
	events   signal.Signal
	client   *wire
	messages map[bool][]byte // by mute
	sent     bool            // the mute that was sent last
}

// runBare serves until ctx ends. args are the sound server's socket, the name of the source,
// the transport, the client's address and the folder of the payloads.
func runBare(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return errors.New("the bare path needs 5 arguments")
	}
	b := &bare{events: signal.New(), messages: make(map[bool][]byte)}
	if err := b.listen(ctx, args[0]); err != nil {
		return err
	}
	defer b.sound.Close()
	var err error
	if b.client, err = wireTo(ctx, fakeserver.Transport(args[2]), args[3]); err != nil {
		return err
	}
	defer b.client.Close()
	defer context.AfterFunc(ctx, func() { _ = b.client.Close() })()
	for _, mute := range []bool{false, true} {
		payload, err := os.ReadFile(payloadFile(args[4], mute))
		if err != nil {
			return err
		}
		b.messages[mute] = b.client.prepare(payload)
	}
	if err := b.serve(ctx, args[1]); ctx.Err() == nil {
		return err
	}
	return nil
}

func (b *bare) listen(ctx context.Context, socket string) (err error) {
	b.sound, err = pulse.Dial(ctx, socket, pulse.Options{Name: "bare path", OnEvent: func(pulse.Facility, pulse.EventType, uint32) {
		b.events.Notify()
	}})
	if err != nil {
		return err
	}
	return b.sound.Subscribe(ctx, pulse.MaskOf(pulse.OnSource))
}

func (b *bare) serve(ctx context.Context, name string) error {
	sources, err := b.sound.Sources(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(sources, func(s pulse.Source) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("the sound server has no source %s", name)
	}
	if err := b.send(sources[i].Mute); err != nil {
		return err
	}
	for {
		select {
		case <-b.events:
		case <-b.sound.Done():
			return b.sound.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		s, err := b.sound.Source(ctx, sources[i].Index)
		if err != nil {
			return err
		}
		if s.Mute == b.sent {
			continue
		}
		if err := b.send(s.Mute); err != nil {
			return err
		}
	}
}

func (b *bare) send(mute bool) error {
	b.sent = mute
	return b.client.send(b.messages[mute])
}
