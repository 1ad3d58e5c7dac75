package memnet_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/fakeserver/conform"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
)

// A server answers over memory, in virtual time, as it does over this machine's sockets: the golden files are what TestProfiles of
// conform gets there. They leave out what measures a time, for which a busy machine is too slow; in virtual time that is exact.
func TestServersAnswerAsOverRealSockets(t *testing.T) {
	exact := map[string]string{
		"http-half-close": "connection closed", "http-abandoned": "token burnt", "http-late-body": "token taken with the head",
		"ipc-abandoned": "token kept", "ws-early-frame": "not tried: no READY",
	}
	for name, opts := range map[string]fakeserver.Options{
		"documented": {},
		"desktop":    {Profile: fakeserver.Desktop, Refill: 500 * time.Millisecond},
		"arrpc":      {Profile: fakeserver.ArRPC},
		"squatter":   {Profile: fakeserver.Squatter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := overSockets(t, name)
			synctest.Test(t, func(t *testing.T) {
				got := inMemory(t, opts)
				for id, answer := range want {
					switch {
					case answer != timed:
						require.Equal(t, answer, got[id], id)
					case opts.Profile == fakeserver.Desktop:
						require.Equal(t, exact[id], got[id], id)
					}
				}
				require.Len(t, got, len(want))
			})
		})
	}
}

const (
	timed        = "?" // stands for an answer that depends on who is faster
	answerColumn = 37  // of a golden file: what is before are a check's id and transport
)

// overSockets is what a golden file says that the server answers, by id of the check.
func overSockets(t *testing.T, name string) map[string]string {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("../../fakeserver/conform/testdata", name+".golden"))
	require.NoError(t, err)
	answers := make(map[string]string)
	for line := range strings.Lines(string(table)) {
		id, _, _ := strings.Cut(line, " ")
		switch head, _, isCheck := strings.Cut(line, " spec "); {
		case isCheck:
			answers[id] = strings.TrimSpace(head[answerColumn:])
		case strings.Contains(line, "measures a time"), strings.HasPrefix(id, "ws-early-frame"):
			answers[strings.TrimSuffix(id, ":")] = timed
		}
	}
	require.NotEmpty(t, answers)
	return answers
}

// inMemory is what the server answers over memory.
func inMemory(t *testing.T, opts fakeserver.Options) map[string]string {
	network := memnet.New(memnet.Options{})
	client, me := network.Process(local.Process{PID: 7}), network.Process(local.Process{PID: 1})
	opts.Network, opts.Ports, opts.IPCDir = client, []int{0}, "/run"
	srv, err := fakeserver.Start(opts)
	require.NoError(t, err)
	defer srv.Close()
	target := conform.Target{URL: srv.URL()}
	if opts.Profile != fakeserver.Squatter {
		target.IPC = filepath.Join(opts.IPCDir, "discord-ipc-0")
	}
	report, err := conform.Run(t.Context(), target, conform.Options{
		All: true, Refill: 500 * time.Millisecond, Patience: time.Second,
		Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
			if kind == "ipc" {
				c, _, err := me.DialIPC(ctx, address)
				return c, err
			}
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			n, err := strconv.Atoi(port)
			require.NoError(t, err)
			return me.DialPort(ctx, n)
		},
	})
	require.NoError(t, err)
	answers := make(map[string]string)
	for _, c := range report.Checks {
		if answers[c.ID] = c.Got; c.Got == "" {
			answers[c.ID] = "not tried: " + c.Why
		}
	}
	return answers
}
