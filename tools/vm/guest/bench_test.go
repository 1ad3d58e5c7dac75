//go:build vmtest

package guest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// patience is how long anything may take. The machine is emulated and its host may be busy, so it is generous; nothing is
// concluded from how long things took.
const patience = 3 * time.Minute

// bench is what all tests share.
var bench struct {
	usb       *emulator
	sound     *soundServer
	client    *fakeserver.Server
	agent     *agent
	catalogue string // of the agent
	serials   int
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		status, err := runTests(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return status
	}())
}

func runTests(m *testing.M) (status int, err error) {
	if err := installRules(); err != nil {
		return 1, err
	}
	if bench.usb, err = startEmulator(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, bench.usb.stop()) }()
	if bench.sound, err = dialSoundServer(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, bench.sound.close()) }()
	if bench.client, err = fakeserver.Start(fakeserver.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, bench.client.Close()) }()
	if rebooted() { // the service's agent runs
		flag.Parse()
		err = flag.Set("test.run", "^TestServiceAfterReboot$")
	} else {
		bench.agent, err = startAgent(exampleCatalogue)
	}
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stopAgent()) }()
	status = m.Run()
	if rejected := bench.client.Stats().Rejected; rejected > 0 {
		return 1, fmt.Errorf("the client rejected %d of the agent's payloads", rejected)
	}
	return status, nil
}

// run returns the output of a program.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(name, args...)
	require.NoError(t, err)
	return out
}

func output(name string, args ...string) (string, error) {
	// Not the test's context, which has ended when the test cleans up.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}

// onceIsEnough skips a test that takes long and says nothing about sound servers on the second one.
func onceIsEnough(t *testing.T) {
	t.Helper()
	if onPulseAudio() {
		t.Skip("this runs with PipeWire")
	}
}

// onPulseAudio tells the two sound servers apart where they differ.
func onPulseAudio() bool { return os.Getenv("VM_SOUND") == "pulse" }
