//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sidetone/internal/testlab"
)

// measureHID turns the mute switch of a headset's HID interface and takes the time until the
// client has the whole payload, in turns through the agent and through a process that only
// reads and writes.
func measureHID(ctx context.Context, b *bench) (rows []row, err error) {
	l, err := b.openHIDLab(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, s := range []scene{overIPC, overWebSocket} {
		over := s.transports[0]
		agent, bare, err := sideBySide(ctx, 5, pick(b, 40, 10),
			func(ctx context.Context) (*driven, error) { return l.startAgent(ctx, b, s) },
			func(ctx context.Context) (*driven, error) { return l.startBare(ctx, b, s) })
		if err != nil {
			return nil, fmt.Errorf("over %s: %w", over, err)
		}
		what := fmt.Sprintf("HID report over %s", over)
		rows = append(rows, overBare(what, 50, agent, bare, time.Millisecond), overBare(what, 99, agent, bare, 10*time.Millisecond))
	}
	rows[0].note = "HID: a pipe in packet mode stands for the hidraw node, and the agent's source, Engine and client run in a " +
		"process of this program. The bare path is blocked in a read of the same pipe, looks at one bit and writes one of two prepared messages."
	return rows, nil
}

// hidLab is a headset without a sound server.
type hidLab struct {
	*testlab.HIDTree
	headset  *testlab.HIDNode
	payloads string // folder of what the bare path sends
}

// openHIDLab lets the agent run once, to learn what the bare path has to send.
func (b *bench) openHIDLab(ctx context.Context) (*hidLab, error) {
	root, err := os.MkdirTemp(b.dir, "hid")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the headset: %w", err)
	}
	l := &hidLab{}
	if l.HIDTree, err = testlab.NewHIDTree(root); err == nil {
		l.headset, err = l.Plug(hidHeadset)
	}
	if err == nil {
		l.payloads, err = os.MkdirTemp(b.dir, "payloads")
	}
	var agent *driven
	if err == nil {
		agent, err = l.startAgent(ctx, b, overIPC)
	}
	if err == nil {
		err = agent.capture(ctx, l.payloads)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *hidLab) close() error {
	if l.headset == nil {
		return nil
	}
	return l.headset.Unplug()
}

// turn turns the headset's switch.
func (l *hidLab) turn(_ context.Context, mute bool) error { return l.headset.Report(muteReport(mute)) }

func (l *hidLab) startAgent(ctx context.Context, b *bench, s scene) (*driven, error) {
	c, err := b.spawn(ctx, "agent", s, func(p *place) ([]string, []string) {
		return []string{b.self, hidAgentArgument, l.Root()}, append(clean(os.Environ()), s.settings(p)...)
	})
	return l.driven(c, err)
}

func (l *hidLab) startBare(ctx context.Context, b *bench, s scene) (*driven, error) {
	c, err := b.spawnBare(ctx, s, l.payloads, func(*place) []string { return []string{hidBare, l.headset.Path()} })
	return l.driven(c, err)
}

func (l *hidLab) driven(c *child, err error) (*driven, error) {
	if err != nil {
		return nil, err
	}
	return &driven{child: c, set: l.turn}, nil
}
