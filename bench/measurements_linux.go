package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sidetone/internal/signal"
	"sidetone/internal/testlab"
)

const (
	agentPath   = "bin/sidetone" // as 'make build' makes it
	trayPath    = "bin/sidetone-tray"
	resultsPath = "bench/RESULTS.md"

	target         = "make bench"
	oneMeasurement = "go run ./bench -only "

	maxSize    = 16 << 20 // target for a stripped binary, in bytes
	maxIdleRSS = 22 << 20 // target for the resident memory of an agent that has just been started, in bytes
	maxStart   = 250 * time.Millisecond
	// watchdog is the agent's watchdog timeout in the user unit.
	watchdog = 240 * time.Second
	// settling is the time between a process's first payload, or the loss of its client, and the first measurement. An agent searches
	// for up to 9 s with growing waits.
	settling = 12 * time.Second

	proc = "/proc"
	// terminated is the signal that ends a program, and terminatedCode its exit code then.
	terminated     = syscall.SIGTERM
	terminatedCode = 0
	// controlName is the name of the agent's own socket, in the folder of the sockets.
	controlName = "/agent.sock"
)

var (
	onPulseAudio = openSound(testlab.PulseAudio, 1.35)
	onPipeWire   = openSound(testlab.PipeWire, 1.5)
)

var measurements = []measurement{
	{"mute", "mute to payload, against the bare path", measureMute(onPulseAudio, onPipeWire)},
	{"start", "start to first payload", measureStart},
	{"idle", "what doing nothing costs", measureIdle},
	{"size", "size of the binaries", measureSize},
}

func (c *child) terminate() { _ = c.cmd.Process.Signal(terminated) } // if it has ended already, its exit code tells

func (c *child) pid() (int, error) { return c.cmd.Process.Pid, nil }

func socketFolder(dir string) (string, error) { return os.MkdirTemp(dir, "ipc") }

// measureStart measures the time from the start of the process until the client has the headset.
// The lab has started the agent before, so its files are in memory.
func measureStart(ctx context.Context, b *bench) []row {
	l := onPulseAudio(ctx, b)
	starts := func(program func(*place) command) round {
		return func(ctx context.Context) sample {
			c := l.start(ctx, program, overIPC)
			defer c.stop()
			return sample{c.last.Time.Sub(c.began)}
		}
	}
	took := inTurns(ctx, pick(b, 20, 5), starts(l.agent), starts(l.bare))
	r := took.row("start of the process to first payload at the client, warm", slowest, "bare path", 0)
	r.target, r.met = "≤ "+ms(maxStart), took.agent.percentile(slowest) <= maxStart
	return []row{r}
}

// measureIdle counts how often idle agents wake up, one on each kind of sound server and beside each a bare path. One more agent has
// no client: by then it has searched for minutes.
func measureIdle(ctx context.Context, b *bench) []row {
	var all []idlers
	manager := b.listenAsManager()
	start := func(l *lab, program func(*place) command) *child {
		c := l.start(ctx, program, overIPC)
		b.cleanup(c.end)
		return c
	}
	for _, open := range []openLab{onPulseAudio, onPipeWire} {
		l := open(ctx, b)
		l.env = append(l.env, "NOTIFY_SOCKET="+manager, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()))
		bare := start(l, l.bare)
		all = append(all, idlers{"connected and idle on " + l.kind, start(l, l.agent), bare})
		if l.kind == string(testlab.PulseAudio) {
			clientless := start(l, l.agent)
			clientless.client.Stop()
			all = append(all, idlers{"no client for minutes", clientless, bare})
		}
	}
	b.check(signal.Sleep(ctx, settling))
	rows := b.watch(ctx, pick(b, 10*time.Minute, 20*time.Second), all...)
	rows[0].note = fmt.Sprintf("Wake-ups are counted from outside, by reading /proc every %s: one is a run of readings with context "+
		"switches in between, of which there are several, because several threads of the Go runtime take part. Context switches are those "+
		"of all threads. An agent has a service manager, whose watchdog it tells every %s that it is well.", tick, watchdog/2)
	for _, i := range all {
		rows = append(rows, i.memoryRow(maxIdleRSS))
	}
	return rows
}

// listenAsManager opens the socket on which a service manager hears from its service, and ignores what comes until the measurement ends.
func (b *bench) listenAsManager() (address string) {
	address = filepath.Join(b.dir, "manager")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	b.check(err)
	b.cleanup(c.Close)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return address
}

// measureSize compares the binaries that ship with a program that does nothing.
func measureSize(ctx context.Context, b *bench) (rows []row) {
	source, nothing := filepath.Join(b.dir, "nothing.go"), filepath.Join(b.dir, "nothing")
	b.check(os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", nothing, source).CombinedOutput()
	if err != nil {
		b.check(fmt.Errorf("build a program that does nothing: %w: %.500s", err, out))
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		b.check(err)
		return info.Size()
	}
	for _, path := range []string{agentPath, trayPath} {
		rows = append(rows, row{
			figure: "stripped binary " + filepath.Base(path), measured: mib(size(path)),
			baseline: mib(size(nothing)) + ", a Go program that does nothing", ratio: times(ratioOf(size(path), size(nothing))),
			target: "≤ " + mib(maxSize), met: size(path) <= maxSize,
		})
	}
	return rows
}

const preamble = `# Results of make bench

Written by ` + "`make bench`" + `. The agent is the real program in a process of its own, the sound servers are
real and private, the client is ` + "`fakeserver`" + `. Every figure stands beside a baseline that was measured in
the same run on the same machine: the absolute figures are this machine's, the ratios are the claim.

The *bare path* is the least that could do the job: a process that reads the one source when the sound
server says that it has changed, and writes one message of the agent's size, prepared beforehand, on a
connection on which the client has said READY. It has no catalogue, no model, no state, no pacing, and waits
for no answer.
`

const goBenchmarks = "```" + `

What needs no process beside it is a Go benchmark. Its target:

` + "```" + `
go test -run '^$' -bench . -benchtime 200x ./bench                   # HID report: at most 1 ms more than bare; push: at most 2 ms more
go test -run '^$' -bench Scan -benchtime 100x ./internal/rpcclient   # eleven ports: at most 10 connects; black holes are not waited for
go test -run '^$' -bench Replay ./internal/engine                    # at least 1000 times as fast as it happened
go test -run '^$' -bench Push ./internal/engine                      # ten times the endpoints: at most 13 times as long
go test -run '^$' -bench ResolveDiff ./internal/devices              # 100 × 100: at most 1 ms; ten times as much: at most 13 times as long
` + "```\n"
