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

// What the first argument says this program is instead of the bench: the least that could do the agent's
// job, the baseline of most figures.
const (
	soundBare = "bare-path"      // sends what a sound server says
	hidBare   = "bare-hid-path"  // sends what a HID device says
	pushBare  = "bare-push-path" // sends what is pushed
)

// bare is a connection to a client, and the two messages that it is to get.
type bare struct {
	client   *wire
	messages map[bool][]byte // by mute
	sent     bool            // the mute that was sent last
}

// spawnBare starts a bare path of the given name and arguments. It knows the first client only.
func (b *bench) spawnBare(ctx context.Context, s scene, payloads string, command func(*place) []string) (*child, error) {
	return b.spawn(ctx, "bare path", s, func(p *place) ([]string, []string) {
		over := s.transports[0]
		args := append([]string{b.self}, command(p)...)
		return append(args, string(over), p.clients[0].address(over), payloads), os.Environ()
	})
}

// bareProgram is the program that follows what its first arguments name until ctx ends. The last three are the
// transport, the client's address and the folder of the payloads.
func bareProgram(follow func(context.Context, *bare, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		n := len(args) - 3
		if n < 1 {
			return errors.New("a bare path needs what to follow, a transport, an address and a folder")
		}
		b, err := prepare(ctx, fakeserver.Transport(args[n]), args[n+1], args[n+2])
		if err != nil {
			return err
		}
		defer b.client.Close()
		defer context.AfterFunc(ctx, func() { _ = b.client.Close() })()
		if err := follow(ctx, b, args[:n]); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// prepare connects to a client and prepares the messages.
func prepare(ctx context.Context, over fakeserver.Transport, address, payloads string) (*bare, error) {
	b := &bare{messages: make(map[bool][]byte)}
	var err error
	if b.client, err = wireTo(ctx, over, address); err != nil {
		return nil, err
	}
	for _, mute := range []bool{false, true} {
		payload, err := os.ReadFile(payloadFile(payloads, mute))
		if err != nil {
			return nil, errors.Join(err, b.client.Close())
		}
		b.messages[mute] = b.client.prepare(payload)
	}
	return b, nil
}

func (b *bare) send(mute bool) error {
	b.sent = mute
	return b.client.send(b.messages[mute])
}

// followSound sends the mute of a sound server's source. from are the server's socket and the source's name.
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
	if err := sound.Subscribe(ctx, pulse.MaskOf(pulse.OnSource)); err != nil {
		return err
	}
	sources, err := sound.Sources(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(sources, func(s pulse.Source) bool { return s.Name == from[1] })
	if i < 0 {
		return fmt.Errorf("the sound server has no source %s", from[1])
	}
	if err := b.send(sources[i].Mute); err != nil {
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
		s, err := sound.Source(ctx, sources[i].Index)
		if err == nil && s.Mute != b.sent {
			err = b.send(s.Mute)
		}
		if err != nil {
			return err
		}
	}
}

// followHID sends a message for each report. from is the path of the node.
func followHID(ctx context.Context, b *bare, from []string) error {
	node, err := os.Open(from[0])
	if err != nil {
		return err
	}
	defer node.Close()
	defer context.AfterFunc(ctx, func() { _ = node.Close() })()
	if err := b.send(false); err != nil {
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
		if err := b.send(report[1]&1 != 0); err != nil {
			return err
		}
	}
}
