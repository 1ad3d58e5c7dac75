//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"sidetone/examples"
	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/testlab"
)

// hidAgent as the first argument makes this program an agent with HID devices in a folder of its own, which
// the shipped agent has no setting for.
const hidAgent = "hid-agent"

const phoneReport = 1 // number of the input report

// hidHeadset is the HID interface of a headset whose Phone Mute is a switch that shows its state
// (absolute, no preferred state).
var hidHeadset = testlab.HIDDevice{
	Node: "hidraw0", Port: "1-3", Interface: 3,
	VID: "1209", PID: "0700", Serial: "A700-0001", Name: "Acme Headset 700",
	Descriptor: []byte{
		0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, // telephony, headset
		0x85, phoneReport, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, // phone mute
		0x95, 0x07, 0x81, 0x03, 0xc0,
	},
}

func muteReport(mute bool) []byte { return []byte{phoneReport, map[bool]byte{true: 1}[mute]} }

// headsetEndpoints are the headset's audio endpoints, as an endpoint file.
var headsetEndpoints = fmt.Sprintf(`{"endpoints": [
	{"id": "mic", "name": "Acme Headset 700 Mono", "type": "audioinput", %[1]s},
	{"id": "speaker", "name": "Acme Headset 700 Analog Stereo", "type": "audiooutput", %[1]s}
]}`, fmt.Sprintf(`"bus": "usb", "vid": %q, "pid": %q, "serial": %q, "container": %q`,
	hidHeadset.VID, hidHeadset.PID, hidHeadset.Serial, hidHeadset.Container()))

// openHID plugs in a headset without a sound server.
func openHID(ctx context.Context, b *bench) *lab {
	b.step = "prepare hid"
	root, err := os.MkdirTemp(b.dir, "hid")
	b.check(err)
	tree, err := testlab.NewHIDTree(root)
	b.check(err)
	headset, err := tree.Plug(hidHeadset)
	b.check(err)
	b.cleanup(headset.Unplug)
	l := &lab{
		bench: b, kind: "hid", what: "HID report", p50: limit{overBare: time.Millisecond}, p99: limit{overBare: 10 * time.Millisecond},
		press:     func(_ context.Context, mute bool) error { return headset.Report(muteReport(mute)) },
		agentArgs: []string{b.self, hidAgent, root}, env: withoutSettings(os.Environ()), bareArgs: []string{hidBare, headset.Path()},
		note: "HID: a pipe in packet mode stands for the hidraw node, and the agent's source, Engine and client run in a process of " +
			"this program. The bare path is blocked in a read of the same pipe, looks at one bit and writes one of two prepared messages.",
	}
	l.capture(ctx)
	b.step = ""
	return l
}

// runHIDAgent runs the agent until ctx ends. args holds the folder of sys and dev; the settings are in the environment.
func runHIDAgent(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("the agent needs the folder that holds sys and dev")
	}
	app.TuneRuntime(os.Getenv)
	c, _, problems := config.Load(config.Options{Env: os.Environ()})
	if len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	endpoints := filepath.Join(args[0], "endpoints.json")
	if err := os.WriteFile(endpoints, []byte(headsetEndpoints), 0o600); err != nil {
		return err
	}
	c.Sources = config.Sources{HID: true, Files: []string{endpoints}}
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	if len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	agent, err := app.New(app.Options{
		Settings: app.NewSettings(c, cat), Host: app.Host{Getenv: os.Getenv, HIDRoot: args[0]},
		Version: "bench", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err == nil {
		err = agent.Run(ctx)
	}
	return err
}
