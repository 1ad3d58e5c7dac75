package main

import "context"

const (
	agentPath   = "bin/windows/amd64/sidetone.exe" // as 'make build-windows' makes it
	trayPath    = "bin/windows/amd64/sidetonew.exe"
	resultsPath = "bench/RESULTS-windows.md"

	target         = "make bench-windows"
	oneMeasurement = "tools/windows/bench.sh -only "
)

var measurements = []measurement{
	{"mute", "mute to payload, against the bare path", []openLab{openCoreAudio}, measureChanges(overIPC, overWebSocket)},
	{"idle", "what doing nothing costs", []openLab{openCoreAudio}, measureIdle},
	{"tray", "what a tray costs that nobody uses", []openLab{openCoreAudio}, measureIdleTray},
}

// programs are what this program can be instead of the bench, by its first argument.
var programs = map[string]func(context.Context, []string) error{coreAudioBare: bareProgram(followCoreAudio)}

const preamble = `# Results of make bench-windows

Written by ` + "`make bench-windows`" + `. The agent is the real ` + "`sidetone.exe`" + `, which runs under Wine in a process of
its own. Core Audio is the stand-in that all programs of a prefix share (tools/windows/standin/audio.c), since Wine's own tells
no program of another's mute. Every figure stands beside a baseline that was measured in the same run on the same machine. None
of it says anything of Windows: what the ratios claim is what the agent itself adds.

The *bare path* is the least that could do the job: a process that Core Audio calls, and that writes one message of the agent's
size, prepared beforehand, on a connection on which the client has said READY. It takes the mute from the call. The mute is set by
a third process, that of the bench, in which the client is, too.
`

const goBenchmarks = "```\n"
