//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sidetone/examples"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

// stepLimit is how long any one thing may take that normally takes milliseconds.
const stepLimit = 15 * time.Second

// lab is a headset that is plugged in somewhere, its mute button, and the programs that can report it.
type lab struct {
	*bench
	kind      string // what the headset is plugged into
	what      string // what pressing the button makes, in a row
	p50, p99  limit  // the targets for a press
	note      string // of its rows
	press     func(ctx context.Context, mute bool) error
	agentArgs []string
	env       []string // of the agent, without the settings that come from its clients
	bareArgs  []string // what the bare path follows
	payloads  string   // folder of what the bare path sends
	close     func() error
}

// openLab opens a lab.
type openLab func(context.Context, *bench) (*lab, error)

// openSound is a private sound server with a headset in it.
func openSound(kind testlab.SoundKind) openLab {
	return func(ctx context.Context, b *bench) (*lab, error) {
		server, err := testlab.StartSound(ctx, kind)
		if err != nil {
			return nil, err
		}
		button, err := pulse.Dial(ctx, server.Socket(), pulse.Options{Name: "bench button"})
		if err != nil {
			return nil, errors.Join(err, server.Close())
		}
		l := &lab{
			bench: b, kind: string(kind), what: "mute on " + string(kind), p50: limit{ratio: 1.5}, p99: limit{ratio: 2},
			close: func() error { return errors.Join(button.Close(), server.Close()) },
		}
		if kind == testlab.PulseAudio {
			l.p50.ratio = 1.35
		}
		return l.opened(ctx, l.furnish(ctx, server, button))
	}
}

// furnish plugs in the headset, and writes the files that the agent reads.
func (l *lab) furnish(ctx context.Context, server *testlab.SoundServer, button *pulse.Conn) error {
	info, err := button.ServerInfo(ctx)
	if err != nil {
		return err
	}
	l.servers[l.kind] = info.PackageName + " " + info.PackageVersion
	headset, err := server.PlugHeadset(ctx, testlab.Headset{
		Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
	})
	if err != nil {
		return err
	}
	l.press = func(ctx context.Context, mute bool) error { // it returns when the server has done so
		ctx, cancel := context.WithTimeout(ctx, stepLimit)
		defer cancel()
		return button.SetSourceMute(ctx, headset.SourceName, mute)
	}
	config, err := os.MkdirTemp(l.dir, "config")
	if err != nil {
		return err
	}
	catalogue := filepath.Join(config, "acme.yaml")
	l.agentArgs = []string{agentPath, "run", "--catalogue", catalogue}
	l.env = append(withoutSettings(server.Env()), "XDG_CONFIG_HOME="+config)
	l.bareArgs = []string{soundBare, server.Socket(), headset.SourceName}
	return os.WriteFile(catalogue, examples.Acme, 0o600)
}

// opened lets the agent run once, to learn what the bare path has to send. It closes the lab
// where that fails, or something has failed before.
func (l *lab) opened(ctx context.Context, err error) (*lab, error) {
	if err == nil {
		l.payloads, err = os.MkdirTemp(l.dir, "payloads")
	}
	if err == nil {
		err = l.capture(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", l.kind, err), l.close())
	}
	return l, nil
}

// capture stores the agent's own payloads, of a muted and of an open microphone.
func (l *lab) capture(ctx context.Context) (err error) {
	c, err := l.start(ctx, l.agent, overIPC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	for _, mute := range []bool{true, false} {
		if err := l.press(ctx, mute); err != nil {
			return err
		}
		p, err := c.awaitMute(ctx, mute)
		if err != nil {
			return err
		}
		if err := os.WriteFile(payloadFile(l.payloads, mute), p.Raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func payloadFile(dir string, mute bool) string {
	return filepath.Join(dir, fmt.Sprintf("mute-%t.json", mute))
}

// agent is the real agent.
func (l *lab) agent(p *place) command {
	return command{"agent", l.agentArgs, append(slices.Clone(l.env), p.settings()...)}
}

// bare is the bare path. It knows the first client only.
func (l *lab) bare(p *place) command { return l.bareProgram("bare path", p, l.bareArgs...) }

func (l *lab) bareProgram(name string, p *place, args ...string) command {
	over := p.transports[0]
	args = append(append([]string{l.self}, args...), string(over), p.clients[0].address(over), l.payloads)
	return command{name, args, os.Environ()}
}

// withoutSettings removes settings of the agent that the bench did not make.
func withoutSettings(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "SIDETONE_") })
}
