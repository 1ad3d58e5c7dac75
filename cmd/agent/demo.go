package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sidetone/examples"
	"sidetone/fakeserver"
	"sidetone/internal/config"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
)

// stepLimit is how long one step of the demo may take before it has failed.
const stepLimit = 15 * time.Second

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Plug, mute, unmute and unplug a virtual headset and watch it arrive at a fake client",
		Long: `Starts a private sound server with nothing in it, a fake client on a free port and the agent,
then plugs a virtual Acme headset in, mutes, unmutes and unplugs it, and shows what arrives.
Nothing of this machine's own sound, settings or clients is touched. Where PulseAudio is not
installed, an endpoint file takes its place.

Exit code 1 if a step did not arrive, or the demo was interrupted.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

// stage is what the demo's headset is plugged into.
type stage interface {
	what() string
	sources(o platform.Options) platform.Options
	plug(ctx context.Context) error
	mute(ctx context.Context, on bool) error
	unplug(ctx context.Context) error
	close()
}

func demo(ctx context.Context, out, talk io.Writer) error {
	cat, problems := config.DecodeCatalogue("acme.yaml", examples.Acme)
	if len(problems) > 0 {
		return fmt.Errorf("the built-in example catalogue: %s", problems[0])
	}
	st, err := newStage(ctx, talk)
	if err != nil {
		return err
	}
	defer st.close()
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{cat.Vendor.ClientID}})
	if err != nil {
		return err
	}
	defer client.Close()

	log := slog.New(slog.DiscardHandler)
	sources, err := platform.Sources(st.sources(platform.Options{}), log)
	if err != nil {
		return err
	}
	resolver, err := devices.NewResolver(cat, devices.Options{OS: devices.Linux})
	if err != nil {
		return err
	}
	d := newDaemon(log, sources,
		engine.Settings{Resolver: resolver, RemovalGrace: time.Second, StaleAfter: 30 * time.Second},
		rpcclient.Options{ClientID: cat.Vendor.ClientID, Origin: "https://demo.invalid", Ports: []int{client.Port()}}) // it lets any origin in
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { d.run(run) })
	defer wg.Wait()
	defer stop()

	fmt.Fprintf(out, "sound: %s\nfake client: 127.0.0.1:%d\n\n", st.what(), client.Port())
	act := &actors{out: out, client: client}
	steps := []step{
		{"the agent starts", nil, holds(0)},
		{"plug the headset in", st.plug, holds(2)},
		{"press its mute button", func(ctx context.Context) error { return st.mute(ctx, true) }, muteIs(true)},
		{"press it again", func(ctx context.Context) error { return st.mute(ctx, false) }, muteIs(false)},
		{"mute once more", func(ctx context.Context) error { return st.mute(ctx, true) }, muteIs(true)},
		{"pull it out, still muted", st.unplug, holds(0)},
		{"plug it in again", st.plug, holds(2)},
		{"the agent stops", func(context.Context) error { stop(); return nil }, holds(0)},
	}
	for i, s := range steps {
		err := act.perform(ctx, i+1, s)
		if ctx.Err() != nil || tookInterrupt(err) {
			return errInterrupted
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\nEvery step arrived. The client's list is empty, as an orderly stop leaves it.")
	return nil
}

// tookInterrupt reports whether Ctrl-C has ended a program that the demo has called: a terminal sends
// it to all of them, and that program may hear of it first.
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
	return func(list []fakeserver.Device) bool {
		for _, d := range list {
			if d.HardwareMute != nil && *d.HardwareMute == on {
				return true
			}
		}
		return false
	}
}

type actors struct {
	out    io.Writer
	client *fakeserver.Server
	seen   int // payloads shown so far
}

// perform does one step and waits for a payload that shows it.
func (a *actors) perform(ctx context.Context, n int, s step) error {
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
		p, err := a.client.WaitPayload(ctx, a.seen)
		if err != nil {
			return fmt.Errorf("step %d, %s: it did not arrive at the fake client within %s: %w", n, s.name, stepLimit, err)
		}
		a.seen = p.Seq
		if p.Err != nil {
			return fmt.Errorf("step %d, %s: the fake client rejects the list: %w", n, s.name, p.Err)
		}
		fmt.Fprintf(a.out, "%-28s %7.1f ms  %s\n", title, float64(p.Time.Sub(start))/float64(time.Millisecond),
			fakeserver.Describe(p.Previous, p.Devices))
		if s.arrived(p.Devices) {
			return nil
		}
		title = "" // a further payload of the same step
	}
}

func newStage(ctx context.Context, talk io.Writer) (stage, error) {
	err := testlab.SoundAvailable(testlab.PulseAudio)
	if err == nil {
		var server *testlab.SoundServer
		if server, err = testlab.StartSound(ctx, testlab.SoundOptions{Kind: testlab.PulseAudio}); err == nil {
			return &pulseStage{server: server}, server.Adopt() // this process plays the agent
		}
	}
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	fmt.Fprintf(talk, "no PulseAudio here, an endpoint file takes its place: %v\n", err)
	dir, err := os.MkdirTemp("", "sidetone-demo")
	if err != nil {
		return nil, err
	}
	s := &fileStage{dir: dir}
	return s, s.write("")
}

// pulseStage is a real PulseAudio of its own with a virtual headset.
type pulseStage struct {
	server  *testlab.SoundServer
	plugged *testlab.PluggedHeadset
}

func (s *pulseStage) what() string { return "a private PulseAudio" }

func (s *pulseStage) sources(o platform.Options) platform.Options {
	o.Audio, o.PulseServer = true, "unix:"+s.server.Socket()
	return o
}

func (s *pulseStage) plug(ctx context.Context) (err error) {
	s.plugged, err = s.server.PlugHeadset(ctx, testlab.Headset{
		Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
	})
	return err
}

func (s *pulseStage) mute(ctx context.Context, on bool) error { return s.plugged.SetMute(ctx, on) }
func (s *pulseStage) unplug(ctx context.Context) error        { return s.plugged.Unplug(ctx) }
func (s *pulseStage) close()                                  { _ = s.server.Close() }

// fileStage is a file that lists the headset's endpoints.
type fileStage struct{ dir string }

func (s *fileStage) what() string { return "an endpoint file" }
func (s *fileStage) path() string { return filepath.Join(s.dir, "endpoints.yaml") }

func (s *fileStage) sources(o platform.Options) platform.Options {
	o.Files = []string{s.path()}
	return o
}

func (s *fileStage) write(endpoints string) error {
	return os.WriteFile(s.path(), []byte("endpoints: ["+endpoints+"]\n"), 0o600)
}

func (s *fileStage) put(mute bool) error {
	const hardware = `name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A700-0001`
	return s.write(fmt.Sprintf("{id: mic, type: audioinput, mute: %t, %s}, {id: speaker, type: audiooutput, %s}", mute, hardware, hardware))
}

func (s *fileStage) plug(context.Context) error            { return s.put(false) }
func (s *fileStage) mute(_ context.Context, on bool) error { return s.put(on) }
func (s *fileStage) unplug(context.Context) error          { return s.write("") }
func (s *fileStage) close()                                { _ = os.RemoveAll(s.dir) }
