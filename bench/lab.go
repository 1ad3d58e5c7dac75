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
	"sidetone/fakeserver"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

// stepLimit is how long any one thing may take that normally takes milliseconds.
const stepLimit = 15 * time.Second

// lab is a private sound server with a headset in it, and the headset's mute button.
type lab struct {
	server    *testlab.SoundServer
	mic       string // name of the headset's source
	button    *pulse.Conn
	catalogue string // path of the catalogue that names the headset
	config    string // empty folder that stands for the user's settings
	payloads  string // folder of what the bare path sends, see capture
}

// openLab starts a sound server and lets the agent run on it once, to learn what the bare
// path has to send.
func (b *bench) openLab(ctx context.Context, kind testlab.SoundKind) (*lab, error) {
	dir, err := os.MkdirTemp(b.dir, string(kind))
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	l := &lab{catalogue: filepath.Join(dir, "acme.yaml"), config: filepath.Join(dir, "config"), payloads: filepath.Join(dir, "payloads")}
	for _, d := range []string{l.config, l.payloads} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
	}
	if err := os.WriteFile(l.catalogue, examples.Acme, 0o600); err != nil {
		return nil, fmt.Errorf("write the catalogue: %w", err)
	}
	if l.server, err = testlab.StartSound(ctx, testlab.SoundOptions{Kind: kind}); err != nil {
		return nil, err
	}
	if err := l.furnish(ctx, b); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// inLab makes a measure of one that needs a sound server with a headset.
func inLab(run func(context.Context, *bench, *lab) ([]row, error)) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		l, err := b.openLab(ctx, testlab.PulseAudio)
		if err != nil {
			return nil, err
		}
		rows, err := run(ctx, b, l)
		return rows, errors.Join(err, l.close())
	}
}

func (l *lab) furnish(ctx context.Context, b *bench) error {
	headset, err := l.server.PlugHeadset(ctx, testlab.Headset{
		Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
	})
	if err != nil {
		return err
	}
	l.mic = headset.SourceName
	if l.button, err = pulse.Dial(ctx, l.server.Socket(), pulse.Options{Name: "bench button"}); err != nil {
		return err
	}
	info, err := l.button.ServerInfo(ctx)
	if err != nil {
		return err
	}
	b.servers[string(l.server.Kind())] = info.PackageName + " " + info.PackageVersion
	agent, err := l.way(b.startAgent, overIPC)(ctx)
	if err != nil {
		return err
	}
	return agent.capture(ctx, l.payloads)
}

func (l *lab) close() error {
	if l.button != nil {
		_ = l.button.Close()
	}
	return l.server.Close()
}

// press sets the mute of the headset's microphone and returns when the server has done so.
func (l *lab) press(ctx context.Context, mute bool) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	return l.button.SetSourceMute(ctx, l.mic, mute)
}

func payloadFile(dir string, mute bool) string {
	return filepath.Join(dir, fmt.Sprintf("mute-%t.json", mute))
}

// startAgent starts the real agent with clients of its own to report to. It returns when each
// has the headset.
func (b *bench) startAgent(ctx context.Context, l *lab, s scene) (*child, error) {
	return b.spawn(ctx, "agent", s, func(p *place) ([]string, []string) {
		env := append(clean(l.server.Env()), "XDG_CONFIG_HOME="+l.config)
		return []string{b.agent, "run", "--catalogue", l.catalogue}, append(env, s.settings(p)...)
	})
}

// clean removes settings of the agent that the bench did not make.
func clean(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "SIDETONE_") })
}

// startBare starts the bare path likewise.
func (b *bench) startBare(ctx context.Context, l *lab, s scene) (*child, error) {
	return b.spawnBare(ctx, s, l.payloads, func(*place) []string { return []string{soundBare, l.server.Socket(), l.mic} })
}

// mutes reports whether a payload lists the headset with the given mute.
func mutes(p fakeserver.Payload, mute bool) bool {
	for _, d := range p.Devices {
		if d.HardwareMute != nil {
			return *d.HardwareMute == mute
		}
	}
	return false
}
