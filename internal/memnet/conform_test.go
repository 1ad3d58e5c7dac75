package memnet_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/fakeserver/conform"
	"sidetone/internal/testlab/ipctest"
)

// A server answers over memory, in virtual time, as it does over this machine's sockets: the golden files are what the tests of
// conform get over memory. Several servers of a kind are asked at the same time, since what is asked most often waits.
func TestServersAnswerAsOverRealSockets(t *testing.T) {
	counting := fakeserver.Options{Profile: fakeserver.Desktop, Refill: 500 * time.Millisecond}
	for name, runs := range map[string][]run{
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
			answers := make([]map[string]string, len(runs))
			var all sync.WaitGroup
			for i, r := range runs {
				all.Go(func() { answers[i] = r.overSockets(t) })
			}
			all.Wait()
			for id, want := range overMemory(t, name) {
				var got string
				for _, a := range answers {
					got = cmp.Or(got, a[id])
				}
				if !dependsOnSpeed[id] {
					require.Equal(t, want, got, id)
				}
			}
		})
	}
}

// A run asks a server over its port or its socket, up to the first check whose name begins like that.
type run struct {
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

// overMemory is what a golden file says that the server answers, by id of the check; "" if that is not asked.
func overMemory(t *testing.T, name string) map[string]string {
	table, err := os.ReadFile(filepath.Join("../../fakeserver/conform/testdata", name+".golden"))
	require.NoError(t, err)
	answers := make(map[string]string)
	for line := range strings.Lines(string(table)) {
		head, _, isCheck := strings.Cut(line, " spec ")
		if !isCheck {
			continue
		}
		id, _, _ := strings.Cut(head, " ")
		answers[id] = strings.TrimSpace(head[answerColumn:])
		if strings.HasPrefix(answers[id], "not tried") {
			answers[id] = ""
		}
	}
	require.NotEmpty(t, answers)
	return answers
}

// overSockets is what the server answers over this machine's sockets, by id of the check; "" if that is not asked.
func (r run) overSockets(t *testing.T) map[string]string {
	r.server.Ports, r.server.IPCDir = []int{0}, ipctest.Folder(t)
	srv, err := fakeserver.Start(r.server)
	if !assert.NoError(t, err) {
		return nil
	}
	defer srv.Close()
	var target conform.Target
	if r.port {
		target.URL = srv.URL()
	}
	if r.socket {
		target.IPC = srv.IPCPath()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := conform.Run(ctx, target, conform.Options{
		All: true, Refill: cmp.Or(r.server.Refill, time.Second), Patience: 750 * time.Millisecond,
		Progress: func(p conform.Progress) {
			if r.until != "" && strings.HasPrefix(p.Check, r.until) {
				cancel()
			}
		},
	})
	if r.until == "" {
		assert.NoError(t, err)
	} else {
		assert.ErrorIs(t, err, context.Canceled)
	}
	answers := make(map[string]string)
	for _, c := range report.Checks {
		answers[c.ID] = c.Got
	}
	return answers
}
