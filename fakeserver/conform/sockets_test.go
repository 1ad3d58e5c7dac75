package conform

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/ipctest"
)

// A server answers over memory, in virtual time, as it does over this machine's sockets: the golden files are what TestProfiles gets
// over memory. Several servers of a kind are asked at the same time, since what is asked most often waits.
func TestServersAnswerAsOverRealSockets(t *testing.T) {
	t.Parallel()
	counting := fakeserver.Options{Profile: fakeserver.Desktop, Refill: 500 * time.Millisecond}
	for name, runs := range map[string][]realRun{
		"documented": {{socket: true}, {port: true}},
		"desktop": {
			{server: counting, socket: true},
			{server: counting, port: true, until: "payload-"}, // the rest would take a token each
			{server: fakeserver.Options{Profile: fakeserver.Desktop, Bucket: -1}, port: true},
		},
		"arrpc":    {{server: fakeserver.Options{Profile: fakeserver.ArRPC}, socket: true}, {server: fakeserver.Options{Profile: fakeserver.ArRPC}, port: true}},
		"squatter": {{server: fakeserver.Options{Profile: fakeserver.Squatter}, port: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := overMemory(t, name), map[string]string{}
			for _, slowness := range slownesses {
				got = answers(t, runs, slowness)
				if maps.Equal(want, got) {
					return
				}
				for id := range want {
					if got[id] != want[id] {
						t.Logf("%s: %q over sockets, with %d times the time; %q over memory", id, got[id], slowness, want[id])
					}
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// slownesses are how much more time is given, one after the other: what a busy machine answers too late it answers with more time, and
// what is answered otherwise over sockets is so with any.
var slownesses = []time.Duration{1, 2, 4, 16}

// answers are what the servers of the runs say to the wanted checks.
func answers(t *testing.T, runs []realRun, slowness time.Duration) map[string]string {
	each := make([]map[string]string, len(runs))
	var all sync.WaitGroup
	for i, r := range runs {
		all.Go(func() { each[i] = r.overSockets(t, slowness) })
	}
	all.Wait()
	got := make(map[string]string)
	for _, a := range each {
		for id, answer := range a {
			if !dependsOnSpeed[id] {
				got[id] = cmp.Or(got[id], answer)
			}
		}
	}
	return got
}

// A realRun asks a server over its port or its socket, up to the first check whose name begins like that.
type realRun struct {
	server       fakeserver.Options
	port, socket bool
	until        string // "": all
}

// dependsOnSpeed are the checks that measure a time, for which a busy machine is too slow, or whose answer is a race.
var dependsOnSpeed = map[string]bool{
	"http-half-close": true, "http-abandoned": true, "http-late-body": true, "ipc-abandoned": true, "ws-early-frame": true,
}

// answerColumn is where the answer begins in a line of a golden file, after a check's id and transport.
const answerColumn = 37

// overMemory is what a golden file says that the server answers, by id of the check, but for those that depend on speed; "" if that is
// not asked.
func overMemory(t *testing.T, name string) map[string]string {
	table, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	require.NoError(t, err)
	answers := make(map[string]string)
	for line := range strings.Lines(string(table)) {
		head, _, isCheck := strings.Cut(line, " spec ")
		if !isCheck {
			continue
		}
		id, _, _ := strings.Cut(head, " ")
		if dependsOnSpeed[id] {
			continue
		}
		answers[id] = strings.TrimSpace(head[answerColumn:])
		if strings.HasPrefix(answers[id], "not tried") {
			answers[id] = ""
		}
	}
	require.NotEmpty(t, answers)
	return answers
}

// overSockets is what the server answers over this machine's sockets, by id of the check; "" if that is not asked. Each time is
// slowness times as long.
func (r realRun) overSockets(t *testing.T, slowness time.Duration) map[string]string {
	r.server.Ports, r.server.IPCDir, r.server.Refill = []int{0}, ipctest.Folder(t), slowness*r.server.Refill
	srv, err := fakeserver.Start(r.server)
	if !assert.NoError(t, err) {
		return nil
	}
	defer srv.Close()
	var target Target
	if r.port {
		target.URL = srv.URL()
	}
	if r.socket {
		target.IPC = srv.IPCPath()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := Run(ctx, target, Options{
		All: true, Refill: cmp.Or(r.server.Refill, slowness*time.Second), Patience: slowness * 750 * time.Millisecond,
		Progress: func(p Progress) {
			if r.until != "" && strings.HasPrefix(p.Check, r.until) {
				cancel()
			}
		},
	})
	answers := make(map[string]string)
	if err != nil && (r.until == "" || !errors.Is(err, context.Canceled)) {
		answers["Run"] = err.Error()
	}
	if report == nil {
		return answers // it was not reached in time
	}
	for _, c := range report.Checks {
		answers[c.ID] = c.Got
	}
	return answers
}
