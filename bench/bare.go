//go:build linux || windows

package main

import (
	"context"
	"errors"
	"os"

	"sidetone/fakeserver"
)

// bare is a connection to a client, and the two messages for it.
type bare struct {
	*wire
	messages map[bool][]byte // by mute
	sent     bool            // the mute that was sent last
}

// bareProgram returns a program that runs follow until ctx ends. Its last three arguments are the transport, the client's
// address and the folder of the payloads; follow gets those before.
func bareProgram(follow func(context.Context, *bare, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		n := len(args) - 3
		if n < 1 {
			return errors.New("a bare path needs what to follow, a transport, an address and a folder")
		}
		w, err := wireTo(ctx, fakeserver.Transport(args[n]), args[n+1])
		if err != nil {
			return err
		}
		defer w.Close()
		defer context.AfterFunc(ctx, func() { _ = w.Close() })()
		b := &bare{wire: w, messages: make(map[bool][]byte)}
		for _, mute := range []bool{false, true} {
			payload, err := os.ReadFile(payloadFile(args[n+2], mute))
			if err != nil {
				return err
			}
			b.messages[mute] = w.prepare(payload)
		}
		if err := follow(ctx, b, args[:n]); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

func (b *bare) report(mute bool) error {
	b.sent = mute
	return b.send(b.messages[mute])
}
