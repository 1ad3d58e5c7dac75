package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/signal"
)

const (
	agentPath   = "bin/windows/amd64/sidetone.exe" // as 'make build-windows' makes it
	resultsPath = "bench/RESULTS-windows.md"

	target         = "make bench-windows"
	oneMeasurement = "tools/windows/bench.sh -only "

	// maxIdleMore is how much more memory the agent may use than a Go program that sleeps.
	maxIdleMore = 8 << 20

	// proc is Linux' /proc, as a Windows program sees it under Wine.
	proc           = `Z:\proc`
	terminatedCode = 1 // of a program that was killed: there is no other way to end it
	// controlName ends the name of the agent's own pipe, after the common beginning of all.
	controlName = "-agent"
)

// terminated ends the bench itself.
var terminated = os.Interrupt

var measurements = []measurement{
	{"mute", "mute to payload, against the bare path", measureMute(openCoreAudio)},
	{"idle", "what doing nothing costs", measureIdle},
}

// idleOver is how long an agent is left alone before it is watched, and how long it is watched. It looks for further clients half
// a minute after a new list and, where it is not notified of them, after 3 min once in 5 to 6 min.
var idleOver = []struct {
	setup
	before, period time.Duration
}{
	{overWebSocket, 40 * time.Second, 2 * time.Minute},
	{overIPC, 4 * time.Minute, 6 * time.Minute},
}

// measureIdle leaves an agent alone, and beside it a Go program that sleeps.
func measureIdle(ctx context.Context, b *bench) (rows []row) {
	program := filepath.Join(filepath.Dir(b.self), "sleeper.exe") // as tools/windows/bench.sh makes it
	sleeper := b.startAlone(&place{}, command{name: "Go program that sleeps", args: []string{program, b.dir}})
	b.cleanup(sleeper.end)
	l := openCoreAudio(ctx, b)
	for _, s := range idleOver {
		agent := l.start(ctx, l.agent, s.setup)
		b.check(signal.Sleep(ctx, pick(b, s.before, 40*time.Second)))
		i := idlers{fmt.Sprintf("connected over %s and idle", s.over()), agent, sleeper}
		rows = append(append(rows, b.watch(ctx, pick(b, s.period, 30*time.Second), i)...), i.memoryRow(sleeper.usage().rss+maxIdleMore))
		agent.stop()
	}
	rows[0].note = fmt.Sprintf("Context switches are those of all threads of the process that Wine makes of a program, read from "+
		"Linux every %s. Each call of Wine's server is one at least.", tick)
	rows[1].note = "Resident are also pages of programs and libraries, which Linux can drop and other processes share. What is a process's " +
		"own is, above all, 1 MiB that Wine touches for each thread, in every program: see docs/windows.md."
	rows[2].note = "Wine tells nobody of a new pipe: an agent that uses pipes looks for the ten names once in 5 to 6 min, " +
		"after 3 min in which nothing has happened, and does nothing else. On Windows it is told, and sleeps."
	return rows
}

func (c *child) terminate() { _ = c.cmd.Process.Kill() }

// pid is the process's number on Linux: it finds the process by its name and arguments, of which the last is unique to this bench.
func (c *child) pid() (int, error) {
	processes, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	words := append([]string{filepath.Base(c.cmd.Args[0])}, c.cmd.Args[1:]...)
	marker := strings.Join(words, "\x00") + "\x00"
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(proc, p.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), marker) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process of Linux is the %s; its last words:\n%s", c.name, c.tail())
}

// socketFolder returns the beginning of the names of new pipes.
func socketFolder(string) (string, error) { return `\\.\pipe\sidetone-bench-` + rand.Text(), nil }

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
