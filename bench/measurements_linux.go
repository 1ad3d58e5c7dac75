package main

import (
	"context"
	"fmt"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

const (
	agentPath   = "bin/sidetone" // as 'make build' makes it
	trayPath    = "bin/sidetone-tray"
	resultsPath = "bench/RESULTS.md"

	target         = "make bench"
	oneMeasurement = "go run ./bench -only "
)

var (
	onPulseAudio = openSound(testlab.PulseAudio)
	onPipeWire   = openSound(testlab.PipeWire)
)

var measurements = []measurement{
	{
		"mute", "mute to payload, against the bare path",
		[]openLab{onPulseAudio, onPipeWire},
		measureChanges(overIPC, overWebSocket, overHTTP),
	},
	{"hid", "HID report to payload, against the bare path", []openLab{openHID}, measureChanges(overIPC, overWebSocket)},
	{"push", "push to payload, against a bare server", []openLab{onPulseAudio}, measurePush},
	{"clients", "mute to three clients at once", []openLab{onPulseAudio}, measureClients},
	{"start", "start to first payload", []openLab{onPulseAudio}, measureStart},
	{"appear", "a client appears", []openLab{onPulseAudio}, measureAppear},
	{"status", "what 'sidetone status' takes", []openLab{onPulseAudio}, measureStatus},
	{"tray", "mute to the tray's menu", []openLab{onPulseAudio}, measureTray},
	{"idle", "what doing nothing costs", []openLab{onPulseAudio, onPipeWire}, measureIdle},
	{"storm", "1,000 toggles per second", []openLab{onPulseAudio}, measureStorm},
	{"flood", "10,000 pushes per second", []openLab{onPulseAudio}, measureFlood},
	{"size", "size of the binary", nil, measureSize},
}

// programs are what this one is instead of the bench, by its first argument.
var programs = map[string]func(context.Context, []string) error{
	soundBare: bareProgram(followSound),
	hidBare:   bareProgram(followHID),
	pushBare:  bareProgram(servePushes),
	hidAgent:  runHIDAgent,
}

// measureClients sets the mute with one client and with three, and takes the time until the last of
// them has the payload.
func measureClients(ctx context.Context, _ *bench, labs []*lab) ([]row, error) {
	l, three := labs[0], overIPC
	three.clients = 3
	took, err := inTurns(ctx, 10, l.changes(l.agent, three), l.changes(l.agent, overIPC))
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("mute over ipc to payload complete at the slowest of %d clients", three.clients)
	return []row{took.row(what, 50, "agent with one client", limit{ratio: 2})}, nil
}

// overHTTP refills the client's bucket so fast that no change has to wait for a token.
var overHTTP = setup{
	transports: []fakeserver.Transport{fakeserver.HTTP}, clients: 1,
	options: fakeserver.Options{Profile: fakeserver.Desktop, Refill: time.Millisecond},
}
