package memnet_test

import (
	"context"
	"net"
	"path/filepath"
	"slices"
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

// A server answers over memory, in virtual time, as it does over this machine's sockets.
func TestServersAnswerAsOverRealSockets(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]fakeserver.Options{
		"documented": {},
		"desktop":    {Profile: fakeserver.Desktop, Refill: 500 * time.Millisecond},
		"arrpc":      {Profile: fakeserver.ArRPC},
		"squatter":   {Profile: fakeserver.Squatter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Ports = []int{0}
			asked := conform.Options{All: true, Refill: 500 * time.Millisecond, Patience: time.Second}
			real := opts
			real.IPCDir = t.TempDir()
			want := answers(t, real, asked)

			var got []string
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New(memnet.Options{})
				client, me := network.Process(local.Process{PID: 7}), network.Process(local.Process{PID: 1})
				inMemory, asked := opts, asked
				inMemory.Network, inMemory.IPCDir = client, "/run"
				asked.Dial = func(ctx context.Context, kind, address string) (net.Conn, error) {
					if kind == "ipc" {
						c, _, err := me.DialIPC(ctx, address)
						return c, err
					}
					_, port, err := net.SplitHostPort(address)
					require.NoError(t, err)
					n, err := strconv.Atoi(port)
					require.NoError(t, err)
					return me.DialPort(ctx, n)
				}
				got = answers(t, inMemory, asked)
			})
			for _, exact := range []string{
				"http-half-close: connection closed", "http-abandoned: token burnt", "http-late-body: token taken with the head", "ipc-abandoned: token kept",
			} {
				// These measure a time, for which a busy machine is too slow.
				id, _, _ := strings.Cut(exact, " ")
				of := func(line string) bool { return strings.HasPrefix(line, id) }
				if opts.Profile == fakeserver.Desktop {
					require.Contains(t, got, exact)
				}
				want, got = slices.DeleteFunc(want, of), slices.DeleteFunc(got, of)
			}
			require.Equal(t, want, got)
		})
	}
}

func answers(t *testing.T, opts fakeserver.Options, asked conform.Options) []string {
	srv, err := fakeserver.Start(opts)
	require.NoError(t, err)
	defer srv.Close()
	target := conform.Target{URL: srv.URL()}
	if opts.Profile != fakeserver.Squatter {
		target.IPC = filepath.Join(opts.IPCDir, "discord-ipc-0")
	}
	report, err := conform.Run(t.Context(), target, asked)
	require.NoError(t, err)
	var list []string
	for _, c := range report.Checks {
		if c.ID == "ws-early-frame" && opts.Profile != fakeserver.Desktop {
			continue // a race with a READY that comes at once
		}
		list = append(list, c.ID+": "+c.Got+c.Why)
	}
	require.NotEmpty(t, list)
	return list
}
