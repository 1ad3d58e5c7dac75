package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// conformAt runs the verb against a server and returns the exit code and what was printed.
func conformAt(t *testing.T, url string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	code = execute(ctx, append([]string{"conform", "--url", url}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestConform(t *testing.T) {
	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })

	t.Run("table", func(t *testing.T) {
		code, out, errs := conformAt(t, srv.URL())
		require.Equal(t, exitOK, code, errs)
		require.Contains(t, out, "GET /rpc                             301                        not said               same\n")
		require.Contains(t, out, "behaves like: specification 10/10, real client ")
		require.Contains(t, errs, "warning: asking with the example client id")
		require.Regexp(t, `\[4/\d+\] http-empty-list, about \d+`, errs)
	})
	t.Run("json and markdown", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.md")
		code, out, errs := conformAt(t, srv.URL(), "--json", "--markdown", file, "--client-id", "112233445566778899")
		require.Equal(t, exitOK, code, errs)
		require.NotContains(t, errs, "warning")
		var report struct {
			ClientID string `json:"client_id"`
			Checks   []any
		}
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		require.Equal(t, "112233445566778899", report.ClientID)
		require.NotEmpty(t, report.Checks)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), "| http-get-rpc | GET /rpc | 301 | not said | same: 301 [code] |\n")
	})
	t.Run("require", func(t *testing.T) {
		code, _, errs := conformAt(t, srv.URL(), "--require", "spec")
		require.Equal(t, exitOK, code, errs)
		code, out, errs := conformAt(t, srv.URL(), "--require", "client")
		require.Equal(t, exitFailed, code)
		require.Contains(t, out, "behaves like")
		require.Contains(t, errs, "the server differs from the real client in 1 of ")
	})
	t.Run("report cannot be written", func(t *testing.T) {
		code, _, errs := conformAt(t, srv.URL(), "--markdown", t.TempDir())
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "cannot write the report")
	})
}

func TestConformMistakes(t *testing.T) {
	for _, args := range [][]string{
		{"--quick", "--all"},
		{"--require", "both"},
		{"--client-id", "mine"},
		{"--patience", "-1s"},
		{"--no-such-flag"},
		{"more"},
		{"--url", "http://192.0.2.1:6463"},
		{"--url", ""},
	} {
		code, out, errs := conformAt(t, "http://127.0.0.1:1", args...)
		require.Equal(t, exitUsage, code, "%q: %s", args, errs)
		require.Empty(t, out)
	}
}

func TestConformWithoutAServer(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	code, out, errs := conformAt(t, "http://"+ln.Addr().String())
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, "no server at 127.0.0.1:")
}
