//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sidetone/fakeserver"
)

// hidBareArgument makes this program the bare path from a HID device instead of the bench.
const hidBareArgument = "bare-hid-path"

// runHIDBare serves until ctx ends. args are the path of the node, the transport, the client's
// address and the folder of the payloads.
func runHIDBare(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("the bare path from a HID device needs 4 arguments")
	}
	b, err := prepare(ctx, fakeserver.Transport(args[1]), args[2], args[3])
	if err != nil {
		return err
	}
	defer b.client.Close()
	node, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer node.Close()
	defer context.AfterFunc(ctx, func() {
		_ = b.client.Close()
		_ = node.Close()
	})()
	if err := b.follow(node); ctx.Err() == nil {
		return err
	}
	return nil
}

// prepare connects to a client and prepares the two messages that it is to get.
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

// follow sends a message for each report.
func (b *bare) follow(node *os.File) error {
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
