package world

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// childEnv makes a process of this test play what it reads from its standard input.
const childEnv = "SIDETONE_WORLD_CHILD"

// patience is how long a scenario may take in real time, on a busy machine and with the race detector. Most take some milliseconds.
const patience = 3 * time.Minute

// resultMark begins a line with a result, between those that the testing package prints.
const resultMark = "result "

// job is a scenario to be played: one that is drawn from a seed, or a given one.
type job struct {
	Seed     uint64    `json:"seed"`
	Clients  bool      `json:"clients,omitempty"` // of GenerateClients
	Scenario *scenario `json:"scenario,omitempty"`
	Story    bool      `json:"story,omitempty"` // it is wanted, too
}

func (j job) scenario() scenario {
	switch {
	case j.Scenario != nil:
		return *j.Scenario
	case j.Clients:
		return generateClients(j.Seed)
	default:
		return generate(j.Seed)
	}
}

// TestChild plays the scenarios that its parent sends. Without one it has nothing to do.
func TestChild(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		return
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var j job
		if err := in.Decode(&j); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		r := play(t, j.scenario(), j.Story)
		fmt.Print(resultMark)
		require.NoError(t, out.Encode(r))
	}
}

// fast is the folder of this test without the race detector, with which playing takes five times as long; "" before it was built.
var fast string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(fast)
	os.Exit(code)
}

// fastProgram is this test without the race detector, where there is Go to build it.
var fastProgram = sync.OnceValues(func() (program string, err error) {
	if fast, err = os.MkdirTemp("", "world"); err != nil {
		return "", err
	}
	return testlab.BuildUnraced(fast)
})

// worker is a child process that plays scenarios one after the other. What ends it, as a deadlock in a
// bubble does, is a violation of the scenario that was being played.
type worker struct {
	program string // "" is fastProgram
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	output  *bytes.Buffer // what it says beside results
	stderr  *bytes.Buffer // not to be read before it has ended
}

func (w *worker) start() error {
	program, err := w.program, error(nil)
	if program == "" {
		if program, err = fastProgram(); err != nil {
			return err
		}
	}
	w.cmd = exec.Command(program, "-test.run=^TestChild$", "-test.timeout=0")
	w.cmd.Env = append(os.Environ(), childEnv+"=1", "GOMAXPROCS=1", "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	w.output, w.stderr = &bytes.Buffer{}, &bytes.Buffer{}
	w.cmd.Stderr = w.stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.in, w.out = in, bufio.NewReader(out)
	return w.cmd.Start()
}

// stop ends the process.
func (w *worker) stop() {
	if w.cmd == nil {
		return
	}
	w.in.Close()
	_, _ = io.Copy(w.output, w.out)
	_ = w.cmd.Wait()
	w.cmd = nil
}

// play returns what comes of a job.
func (w *worker) play(j job) (r result) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return result{Violations: []violation{{Rule: "harness", Client: ofDesk, What: err.Error()}}}
		}
	}
	hung := time.AfterFunc(patience, func() { _ = w.cmd.Process.Kill() })
	defer hung.Stop()
	data, err := json.Marshal(j)
	if err == nil {
		_, err = w.in.Write(append(data, '\n'))
	}
	var line []byte
	for err == nil {
		if line, err = w.out.ReadBytes('\n'); err != nil {
			break
		}
		if result, is := bytes.CutPrefix(line, []byte(resultMark)); is {
			if err = json.Unmarshal(result, &r); err == nil {
				return r
			}
			break
		}
		w.output.Write(line)
	}
	output, stderr := w.output, w.stderr
	w.stop()
	return result{Violations: []violation{{Rule: "crash", Client: ofDesk, What: fmt.Sprintf("%v: %s", err, headline(stderr.String()+output.String()))}}}
}

// headline is what a Go program says first when it crashes.
func headline(output string) string {
	for _, mark := range []string{"panic:", "fatal error:", "DATA RACE", "--- FAIL"} {
		if i := strings.Index(output, mark); i >= 0 {
			return output[i:min(len(output), i+2000)]
		}
	}
	return output[max(0, len(output)-500):]
}
