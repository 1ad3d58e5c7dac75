package main

import (
	"context"

	"sidetone/internal/testlab"
)

const (
	agentPath   = "bin/sidetone" // as 'make build' makes it
	trayPath    = "bin/sidetone-tray"
	resultsPath = "bench/RESULTS.md"

	target   = "make bench"
	oneScene = "go run ./bench -only "
)

var (
	onPulseAudio = openSound(testlab.PulseAudio)
	onPipeWire   = openSound(testlab.PipeWire)
)

var scenes = []scene{
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
