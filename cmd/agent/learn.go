package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
	"sidetone/internal/platform/hidio"
)

const (
	// learnHandsOff is how long the user must not touch the headset: long enough to see a battery report or the
	// jitter of a dial.
	learnHandsOff = 3 * time.Second
	// learnTimeout is how long one step may take.
	learnTimeout = 10 * time.Minute
)

func learnCommand() *cobra.Command {
	var from, save string
	l := learner{handsOff: learnHandsOff, timeout: learnTimeout}
	cmd := &cobra.Command{
		Use:   "learn [VID:PID | NODE]",
		Short: "Find a headset's mute report and propose the catalogue rule for it",
		Long: `Guides you through a few presses of mute, compares what the headset sent, and prints rules for the
'sources' of its product in the catalogue, best first. Each rule was run over the recording and gave
the right state after each press. All HID interfaces of the device are read, nothing is written, and
other programs can use it meanwhile. Needs neither a catalogue nor a running agent.

Name the device by its ids (1209:0700) or by one of its nodes (hidraw3). Without a name, the only
device that looks like a headset is taken; if there is none or more than one, they are listed.

Many headsets send their mute only during a call: start one if nothing is found.

--save FILE keeps the recording, if mute was pressed before it ended. --from FILE learns from one
instead of asking. It is JSON, one object a line, in order of time. A line is an event, as
  {"happening":"attached","node":"hidraw3","device":{"node":"hidraw3","bus":"usb","vid":"1209",
   "pid":"0700","interface":3,"descriptor":"050b0905..."},"at":"2026-01-01T12:00:00Z"}    (one line)
  {"happening":"report","node":"hidraw3","data":"640280","at":"2026-01-01T12:00:01Z"}
or a mark, which says something of the time since the mark before it:
  {"mark":"unmuted"}    the microphone is not muted now      {"mark":"hands_off"}  nothing was touched
  {"mark":"muted"}      it is muted now                      {"mark":"other"}      all but mute was used

Exit codes: 0 there is a rule; 1 there is none, or the device cannot be read; 2 the input is wrong, or
it is not clear which device is meant.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" {
				if len(args) > 0 || save != "" {
					return badInput(errors.New("--from: needs no device and no --save"))
				}
				s, err := readSession(cmd.Context(), from)
				if err != nil {
					return badFile(err)
				}
				return analyse(cmd.OutOrStdout(), s)
			}
			if l.rounds < 2 || l.rounds > 50 {
				return badInput(fmt.Errorf("--rounds %d: want 2 to 50", l.rounds))
			}
			if err := hidAllowed(cmd); err != nil {
				return err
			}
			l.open, l.in, l.messages = openHID, cmd.InOrStdin(), cmd.ErrOrStderr()
			return l.run(cmd.Context(), cmd.OutOrStdout(), append(args, "")[0], save)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "learn from a recording instead of asking")
	cmd.Flags().StringVar(&save, "save", "", "keep the recording in this new file")
	cmd.Flags().IntVar(&l.rounds, "rounds", 3, "how often to mute and unmute")
	return cmd
}

// openHID opens the HID devices of this machine. Events say why a device was left out.
func openHID(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error) {
	src, err := hidio.New(host.HIDRoot, hidio.Any(want), handle, slog.New(slog.DiscardHandler))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("HID devices cannot be read on %s yet: use --from with a recording of Linux or Windows", runtime.GOOS)
	}
	return src, err
}

// hidAllowed returns an error if policy forbids the agent HID devices. The user's own settings for the agent do not apply here.
func hidAllowed(cmd *cobra.Command) error {
	o := settingsSources(cmd)
	c, origins, problems := config.Load(config.Options{Policy: o.Policy, Registry: o.Registry})
	if err := app.Input(problems, nil); err != nil {
		return err
	}
	if where := (&app.Settings{Origins: origins}).Policy("sources.hid"); where != "" && !c.Sources.HID {
		return fmt.Errorf("HID devices are switched off by policy, by sources.hid at %s: learn from a recording with --from", where)
	}
	return nil
}

func readSession(ctx context.Context, path string) (learn.Session, error) {
	file, err := openInterruptible(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer file.Close()
	s, err := learn.ReadSession(file)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", path, err)
	}
	return s, nil
}

// analyse prints what can be inferred from a session. Finding no rule is not an error.
func analyse(w io.Writer, s learn.Session) error {
	result, err := learn.Infer(s)
	if err != nil {
		return badInput(err)
	}
	printResult(w, result)
	if len(result.Proposals) == 0 {
		return exitCode(exitFailed)
	}
	return nil
}

// learner guides the user of a headset.
type learner struct {
	open     func(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error)
	in       io.Reader
	messages io.Writer
	handsOff time.Duration
	timeout  time.Duration
	rounds   int
}

func (l *learner) run(ctx context.Context, out io.Writer, name, save string) error {
	headset, err := l.choose(ctx, name)
	if err != nil {
		return err
	}
	var file *os.File
	if save != "" { // now, before the user does all the work
		file, err = os.OpenFile(save, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return badInput(fmt.Errorf("--save %s: the file exists: name another one, or remove it first", save))
		}
		if err != nil {
			return badInput(fmt.Errorf("--save: %w", err))
		}
		defer file.Close()
	}
	s, ended := l.record(ctx, headset)
	var unsaved error
	if file != nil {
		unsaved = l.keep(file, s)
	}
	if ended != nil {
		if !s.Suffices() {
			return errors.Join(fmt.Errorf("nothing learnt: %w", ended), unsaved)
		}
		fmt.Fprintf(l.messages, "ended: %v\n", ended)
	}
	result := analyse(out, s)
	if unsaved != nil {
		return unsaved
	}
	return result
}

// keep saves a session, or removes the file if mute was never pressed: nothing could be learnt from it. If the file cannot be written,
// the session is saved elsewhere or printed, so that the user need not press everything again.
func (l *learner) keep(file *os.File, s learn.Session) error {
	if !slices.ContainsFunc(s, func(step learn.Step) bool { return step.Mark == learn.MarkMuted }) {
		return errors.Join(file.Close(), os.Remove(file.Name()))
	}
	err := finish(file, s.Write)
	if err == nil {
		return nil
	}
	other, failed := os.CreateTemp("", programName()+"-learn-*.jsonl")
	if failed == nil {
		failed = finish(other, s.Write)
	}
	if failed == nil {
		return fmt.Errorf("--save: %w; the recording is in %s instead", err, other.Name())
	}
	_ = s.Write(l.messages)
	return fmt.Errorf("--save: %w; the recording is above, line by line", err)
}
