// Command demo starts a private sound server without devices, a fake client on a free port, and the agent. It then plugs in
// a virtual Acme headset, mutes, unmutes and unplugs it, and shows what arrives. It touches none of this machine's
// own sound, settings or clients. Where PulseAudio is not installed, an endpoint file takes its place.
//
// Its exit code is 1 if a step did not arrive, or the demo was interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"sidetone/examples"
	"sidetone/fakeserver"
	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
)

// stepLimit is how long one step of the demo may take before it has failed.
const stepLimit = 15 * time.Second

var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A write that nobody reads fails, but must not end the demo before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := demo(ctx, os.Stdout, os.Stderr)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, syscall.EPIPE) { // a reader such as head has seen enough: no need to complain
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
	os.Exit(1)
}

func demo(ctx context.Context, out, talk io.Writer) (err error) {
	defer func() {
		if ctx.Err() != nil || tookInterrupt(err) {
			err = errInterrupted
		}
	}()
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	if len(problems) > 0 {
		return fmt.Errorf("the built-in example catalogue: %s", problems[0])
	}
	bed, err := newTestbed(ctx, talk)
	if err != nil {
		return err
	}
	defer func() { _ = bed.close() }()
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{cat.Vendor.ClientID}})
	if err != nil {
		return err
	}
	defer client.Close()
	folder, err := os.MkdirTemp("", "demo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var log testlab.Output
	defer func() {
		if err != nil && ctx.Err() == nil && !errors.Is(err, syscall.EPIPE) {
			fmt.Fprintf(talk, "What the agent has logged:\n%s\n", log.String())
		}
	}()
	agent, err := newAgent(cat, bed.sources, folder, client.Port(), &log)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = agent.Run(run) })
	defer wg.Wait()
	defer stop()

	fmt.Fprintf(out, "sound: %s\nfake client: 127.0.0.1:%d\n\n", bed.what, client.Port())
	return runSteps(ctx, &demoRunner{out: out, client: client}, bed, stop)
}

func runSteps(ctx context.Context, r *demoRunner, bed *testbed, stop func()) error {
	steps := []step{
		{"the agent starts", nil, holds(0)},
		{"plug the headset in", bed.plug, holds(2)},
		{"press its mute button", func(ctx context.Context) error { return bed.mute(ctx, true) }, muteIs(true)},
		{"press it again", func(ctx context.Context) error { return bed.mute(ctx, false) }, muteIs(false)},
		{"mute once more", func(ctx context.Context) error { return bed.mute(ctx, true) }, muteIs(true)},
		{"pull it out, still muted", bed.unplug, holds(0)},
		{"plug it in again", bed.plug, holds(2)},
		{"the agent stops", func(context.Context) error { stop(); return nil }, holds(0)},
	}
	for i, s := range steps {
		if err := r.runStep(ctx, i+1, s); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.out, "\nEvery step arrived. The client's list is empty, as an orderly stop leaves it.")
	return nil
}

// newAgent makes an agent that reports to one port only. Its own socket and lock
// are in a folder of the demo.
func newAgent(cat *catalogue.Catalogue, sources config.Sources, folder string, port int, log io.Writer) (*app.App, error) {
	c := config.Default()
	c.Sources = sources
	c.RPC.Ports, c.RPC.IPCFolders = config.Ports{port}, []string{folder}
	c.RPC.Transports = []rpcclient.Transport{rpcclient.WebSocket, rpcclient.HTTP}
	c.RPC.Origin = "https://demo.invalid" // the fake client lets any origin in
	return app.New(app.Options{
		Settings: app.NewSettings(c, cat),
		Host:     app.Host{Getenv: func(string) string { return folder }},
		Version:  "demo",
		Log:      slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

// tookInterrupt reports whether Ctrl-C has ended a program that the demo has called: a terminal interrupts
// all of them, and that program may be the first.
func tookInterrupt(err error) bool {
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}

type step struct {
	name    string
	act     func(context.Context) error // nil: nothing to do but wait
	arrived func([]fakeserver.Device) bool
}

func holds(n int) func([]fakeserver.Device) bool {
	return func(list []fakeserver.Device) bool { return len(list) == n }
}

func muteIs(on bool) func([]fakeserver.Device) bool {
	is := func(d fakeserver.Device) bool { return d.HardwareMute != nil && *d.HardwareMute == on }
	return func(list []fakeserver.Device) bool { return slices.ContainsFunc(list, is) }
}

type demoRunner struct {
	out    io.Writer
	client *fakeserver.Server
	seen   int // payloads shown so far
}

func (r *demoRunner) runStep(ctx context.Context, n int, s step) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	title := fmt.Sprintf("%d. %s", n, s.name)
	start := time.Now()
	if s.act != nil {
		if err := s.act(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", n, s.name, err)
		}
	}
	for {
		p, err := r.client.WaitPayload(ctx, r.seen)
		if err != nil {
			return fmt.Errorf("step %d, %s: it did not arrive at the fake client within %s: %w", n, s.name, stepLimit, err)
		}
		r.seen = p.Seq
		if p.Err != nil {
			return fmt.Errorf("step %d, %s: the fake client rejects the list: %w", n, s.name, p.Err)
		}
		took := float64(p.Time.Sub(start)) / float64(time.Millisecond)
		if _, err := fmt.Fprintf(r.out, "%-28s %7.1f ms  %s\n", title, took, fakeserver.Describe(p.Previous, p.Devices)); err != nil {
			return err
		}
		if s.arrived(p.Devices) {
			return nil
		}
		title = "" // a further payload of the same step
	}
}
