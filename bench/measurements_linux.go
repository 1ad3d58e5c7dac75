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

// programs are what this program can be instead of the bench, by its first argument.
var programs = map[string]func(context.Context, []string) error{
	soundBare: bareProgram(followSound),
	hidBare:   bareProgram(followHID),
	pushBare:  bareProgram(servePushes),
	hidAgent:  runHIDAgent,
}

// measureClients sets the mute with one client and with three, and measures the time until the last of
// them has the payload.
func measureClients(ctx context.Context, _ *bench, labs []*lab) []row {
	l, three := labs[0], overIPC
	three.clients = 3
	took := inTurns(ctx, 10, l.changes(l.agent, three), l.changes(l.agent, overIPC))
	what := fmt.Sprintf("mute over ipc to payload complete at the slowest of %d clients", three.clients)
	return []row{took.row(what, 50, "agent with one client", limit{ratio: 2})}
}

// overHTTP refills the client's token bucket so fast that no change has to wait.
var overHTTP = setup{
	transports: []fakeserver.Transport{fakeserver.HTTP}, clients: 1,
	options: fakeserver.Options{Profile: fakeserver.Desktop, Refill: time.Millisecond},
}

const preamble = `# Results of make bench

Written by ` + "`make bench`" + `. The agent is the real program in a process of its own, the sound servers are
real and private, the client is ` + "`fakeserver`" + `. Every figure stands beside a baseline that was measured in
the same run on the same machine: the absolute figures are this machine's, the ratios are the claim.

The *bare path* is the least that could do the job: a process that reads the one source when the sound
server says that it has changed, and writes one message of the agent's size, prepared beforehand, on a
connection on which the client has said READY. It has no catalogue, no model, no state, no pacing, and waits
for no answer (but over HTTP, where the next request has to wait for it).

Where no transport is named, the client has an IPC socket and a port, as the desktop client has, and agent
and bare path use the socket.
`

const goBenchmarks = "```" + `

What needs no process beside it is a Go benchmark. Its target:

` + "```" + `
go test -run '^$' -bench Scan -benchtime 100x ./internal/rpcclient   # eleven ports: at most 10 connects; black holes are not waited for
go test -run '^$' -bench Replay ./internal/engine                    # at least 1000 times as fast as it happened
go test -run '^$' -bench Push ./internal/engine                      # ten times the endpoints: at most 13 times as long
go test -run '^$' -bench ResolveDiff ./internal/devices              # 100 × 100: at most 1 ms; ten times as much: at most 13 times as long
` + "```\n"
