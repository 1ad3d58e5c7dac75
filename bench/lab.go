//go:build linux || windows

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sidetone/examples"
)

const stepLimit = 15 * time.Second // for any step that normally takes milliseconds

// lab is a plugged-in headset with its mute button, and the programs that can report it. It ends with the measurement.
type lab struct {
	*bench
	kind     string  // what the headset is plugged into
	ratio    float64 // the target for the median of a press: at most that of the bare path's
	press    func(ctx context.Context, mute bool) error
	config   string   // folder of the agent's settings
	env      []string // of the agent, without the settings that depend on its client
	bareArgs []string // what the bare path follows
	payloads string   // folder of the payloads that the bare path sends
}

// openLab opens a lab, which ends with the measurement.
type openLab func(context.Context, *bench) *lab

// useExample makes the agent read the example catalogue. folders are the variables that name the folder of its settings.
func (l *lab) useExample(env []string, folders ...string) {
	var err error
	l.config, err = os.MkdirTemp(l.dir, "config")
	l.check(err)
	l.env = withoutSettings(env)
	for _, name := range folders {
		l.env = append(l.env, name+"="+l.config)
	}
	l.check(os.WriteFile(l.catalogue(), examples.Acme, 0o600))
}

func (l *lab) catalogue() string { return filepath.Join(l.config, "acme.yaml") }

// capture runs the agent once, to learn what the bare path has to send: the agent's own payloads, of a muted and of an open microphone.
func (l *lab) capture(ctx context.Context) {
	var err error
	l.payloads, err = os.MkdirTemp(l.dir, "payloads")
	l.check(err)
	c := l.start(ctx, l.agent, overIPC)
	defer c.stop()
	for _, mute := range []bool{true, false} {
		l.check(l.press(ctx, mute))
		l.check(os.WriteFile(payloadFile(l.payloads, mute), c.awaitMute(ctx, mute).Raw, 0o600))
	}
}

func payloadFile(dir string, mute bool) string {
	return filepath.Join(dir, fmt.Sprintf("mute-%t.json", mute))
}

func (l *lab) agent(p *place) command {
	return command{"agent", []string{agentPath, "run", "--catalogue", l.catalogue()}, append(slices.Clone(l.env), p.settings()...)}
}

func (l *lab) bare(p *place) command {
	args := append([]string{l.self, bareArgument}, l.bareArgs...)
	return command{"bare path", append(args, string(p.over()), p.address(p.over()), l.payloads), os.Environ()}
}

// withoutSettings removes the agent's settings, which the bench has not made.
func withoutSettings(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "SIDETONE_") })
}
