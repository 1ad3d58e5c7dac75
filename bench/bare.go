//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"sidetone/internal/platform/pulse"
)

// bareArgument makes this program the bare path instead of the bench.
const bareArgument = "bare-path"

// bare is the least that could do the agent's job, the baseline of most figures.
type bare struct {
	sound    *pulse.Conn
	events   chan struct{}
	client   *websocket.Conn
	payloads map[bool][]byte // by mute
	sent     bool            // the mute that was sent last
}

// runBare serves until ctx ends. args are the sound server's socket, the name of the source,
// the client's port and the folder of the payloads.
func runBare(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("the bare path needs 4 arguments")
	}
	b := &bare{events: make(chan struct{}, 1), payloads: make(map[bool][]byte)}
	for _, mute := range []bool{false, true} {
		var err error
		if b.payloads[mute], err = os.ReadFile(payloadFile(args[3], mute)); err != nil {
			return err
		}
	}
	if err := b.listen(ctx, args[0]); err != nil {
		return err
	}
	defer b.sound.Close()
	if err := b.dial(ctx, args[2]); err != nil {
		return err
	}
	defer b.client.Close()
	return b.serve(ctx, args[1])
}

func (b *bare) listen(ctx context.Context, socket string) (err error) {
	b.sound, err = pulse.Dial(ctx, socket, pulse.Options{Name: "bare path", OnEvent: func(pulse.Facility, pulse.EventType, uint32) {
		select {
		case b.events <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	return b.sound.Subscribe(ctx, pulse.MaskOf(pulse.OnSource))
}

func (b *bare) dial(ctx context.Context, port string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	url := "ws://127.0.0.1:" + port + "/?v=1&client_id=123456789012345678&encoding=json"
	if b.client, _, err = websocket.DefaultDialer.DialContext(ctx, url, nil); err != nil {
		return fmt.Errorf("connect to the client: %w", err)
	}
	_ = b.client.SetReadDeadline(time.Now().Add(stepLimit))
	if _, _, err = b.client.ReadMessage(); err != nil { // READY
		return fmt.Errorf("wait for the client's READY: %w", err)
	}
	_ = b.client.SetReadDeadline(time.Time{})
	go func() { // answers are read away
		for {
			if _, _, err := b.client.NextReader(); err != nil {
				return
			}
		}
	}()
	return nil
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
			return nil
		}
		s, err := b.sound.Source(ctx, sources[i].Index)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case s.Mute == b.sent:
			continue
		}
		if err := b.send(s.Mute); err != nil {
			return err
		}
	}
}

func (b *bare) send(mute bool) error {
	b.sent = mute
	_ = b.client.SetWriteDeadline(time.Now().Add(stepLimit))
	err := b.client.WriteMessage(websocket.TextMessage, b.payloads[mute])
	_ = b.client.NetConn().SetWriteDeadline(time.Time{}) // else it would wake an idle process
	return err
}
