//go:build vmtest

package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// agentLog is where the agent's log goes. The machine prints the ends of such files when the tests have failed.
const agentLog = "/tmp/agent.log"

// exampleCatalogue is what the agent runs with where a test does not want another.
const exampleCatalogue = "acme.yaml"

// An agent is a running "sidetone run", as the ordinary user that the tests run as.
type agent struct {
	cmd  *exec.Cmd
	done chan error
}

// startAgent returns when each of the agent's sources has looked at what is there. What a test plugs in then comes while the
// agent watches, which is more than being there when it starts: a toggle with an anchor is known.
func startAgent(catalogue string) (*agent, error) {
	log, err := os.OpenFile(agentLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	// The fake client lets any origin in; without one the agent would not even try the WebSocket of what looks like the client.
	cmd := exec.Command("./sidetone", "run", "--catalogue", catalogue, "--rpc-origin", "https://acme.example")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	a := &agent{cmd, make(chan error, 1)}
	running := make(chan struct{})
	go func() {
		defer log.Close()
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(log, lines.Text())
			if strings.Contains(lines.Text(), "sidetone runs") {
				close(running)
			}
		}
		a.done <- cmd.Wait()
	}()
	deadline := time.After(patience)
	select {
	case <-running: // before that it could not be asked, and a signal would kill it
	case err := <-a.done:
		return nil, fmt.Errorf("the agent has ended at once, see %s: %w", agentLog, err)
	case <-deadline:
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("the agent does not run %v after its start, see %s", patience, agentLog)
	}
	for {
		err := sourcesHaveLooked()
		if err == nil {
			return a, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			_ = cmd.Process.Kill()
			return nil, fmt.Errorf("the agent is not ready %v after its start, see %s: %w", patience, agentLog, err)
		}
	}
}

// sourcesHaveLooked is nil when each source of the running agent has said what it found, or why it could not.
func sourcesHaveLooked() error {
	out, err := output("./sidetone", "status", "--json")
	if err != nil {
		return err
	}
	var status struct {
		Sources []struct{ Name, Condition string }
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return fmt.Errorf("the agent's status: %w", err)
	}
	for _, s := range status.Sources {
		if s.Condition == "starting" {
			return fmt.Errorf("the source %s has not answered", s.Name)
		}
	}
	return nil
}

// stop asks the agent to end in order and returns how it did.
func (a *agent) stop() error {
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the agent: %w", err)
	}
	select {
	case err := <-a.done:
		if err != nil {
			return fmt.Errorf("the agent did not end in order: %w", err)
		}
		return nil
	case <-time.After(patience):
		_ = a.cmd.Process.Kill()
		return fmt.Errorf("the agent was still running %v after SIGTERM", patience)
	}
}

// useCatalogue has the agent run with another catalogue until the end of the test.
func useCatalogue(t *testing.T, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	restartAgent(t, file)
	t.Cleanup(func() { restartAgent(t, exampleCatalogue) })
}

func restartAgent(t *testing.T, catalogue string) {
	t.Helper()
	require.NoError(t, stopAgent())
	var err error
	bench.catalogue = catalogue
	bench.agent, err = startAgent(catalogue)
	require.NoError(t, err)
}

// stopAgent does nothing if a test has failed to start another.
func stopAgent() error {
	a := bench.agent
	if a == nil {
		return nil
	}
	bench.agent = nil
	return a.stop()
}

// expect waits until the client's list is want, in any order: what was attached last depends on the sound server.
func expect(t *testing.T, want ...fakeserver.Device) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := bench.client.Wait(ctx, func(got []fakeserver.Device) bool {
		return reflect.DeepEqual(sorted(got), sorted(want))
	})
	require.NoError(t, err, "the client has\n%sand should have\n%s", text(sorted(bench.client.Devices())), text(sorted(want)))
}

func sorted(list []fakeserver.Device) []fakeserver.Device {
	list = append([]fakeserver.Device{}, list...)
	slices.SortFunc(list, func(a, b fakeserver.Device) int { return strings.Compare(a.Type+a.ID, b.Type+b.ID) })
	return list
}

// text is one device a line.
func text(list []fakeserver.Device) string {
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	for _, d := range list {
		if err := encoder.Encode(d); err != nil {
			return err.Error()
		}
	}
	return lines.String()
}

// payloads counts what the client has received.
func payloads() int { return bench.client.Stats().Payloads }

// What the example catalogue says about the vendor and the products.
var (
	acme       = fakeserver.Named{Name: "Acme Audio", URL: "https://acme.example"}
	headset700 = fakeserver.Named{Name: "Acme Headset 700", URL: "https://acme.example/headset-700"}
	studioMic  = fakeserver.Named{Name: "Acme Studio Mic", URL: "https://acme.example/studio-mic"}
	webcam     = fakeserver.Named{Name: "Acme Webcam 4K", URL: "https://acme.example/webcam"}
)

// asHeadset is what the client should know of a headset: it goes by the names that the sound server shows for its halves.
func (d *device) asHeadset(muted, gain bool) []fakeserver.Device {
	d.t.Helper()
	microphone, speaker := d.source(muted).description, d.sinks()[0].description
	return []fakeserver.Device{
		{
			Type: fakeserver.AudioInput, ID: microphone, Vendor: acme, Model: headset700, Related: []string{speaker},
			HardwareMute: &muted, AutomaticGainControl: &gain,
		},
		{Type: fakeserver.AudioOutput, ID: speaker, Vendor: acme, Model: headset700, Related: []string{microphone}},
	}
}

func asCamera(busInfo string) fakeserver.Device {
	return fakeserver.Device{Type: fakeserver.VideoInput, ID: busInfo, Vendor: acme, Model: webcam, Related: []string{}}
}

func TestAgentStopsAndStarts(t *testing.T) {
	d := plug(t, 0, headset())
	list := d.asHeadset(false, false)
	expect(t, list...)

	require.NoError(t, stopAgent())
	expect(t)

	restartAgent(t, exampleCatalogue)
	expect(t, list...)
}

func TestAnotherCatalogue(t *testing.T) {
	useCatalogue(t, `
schema: 1
vendor: {id: ajax, name: Ajax, url: "https://ajax.example", client_id: "123456789012345678"}
products:
  - id: speaker
    name: Ajax Speaker
    url: https://ajax.example/speaker
    priority: 1
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audiooutput}]
`)
	d := plug(t, 0, headset())
	expect(t, fakeserver.Device{
		Type: fakeserver.AudioOutput, ID: d.sinks()[0].description, Related: []string{},
		Vendor: fakeserver.Named{Name: "Ajax", URL: "https://ajax.example"},
		Model:  fakeserver.Named{Name: "Ajax Speaker", URL: "https://ajax.example/speaker"},
	})
}
