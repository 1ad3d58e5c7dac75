package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/fakeserver/internal/host"
	"sidetone/internal/testlab/ipctest"
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
		require.Contains(t, out, "GET /rpc?v=1                         301                        not said               same\n")
		require.Contains(t, out, "\nasked by fakeserver dev, ")
		require.Contains(t, out, "behaves like: specification 10/10, real client ")
		require.Contains(t, errs, "warning: asking with the example client id")
		require.Regexp(t, `\[9/\d+\] http-empty-list, up to \d+`, errs)
	})
	t.Run("json and markdown", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.md")
		code, out, errs := conformAt(t, srv.URL(), "--json", "--markdown", file, "--client-id", "112233445566778899")
		require.Equal(t, exitOK, code, errs)
		require.NotContains(t, errs, "warning")
		var report struct {
			ClientID              string `json:"client_id"`
			Version, Host, System string
			Checks                []any
		}
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		require.Equal(t, "112233445566778899", report.ClientID)
		require.NotEmpty(t, report.Checks)
		name, err := os.Hostname()
		require.NoError(t, err)
		require.Equal(t, []string{"dev", name, host.System()}, []string{report.Version, report.Host, report.System})
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), ". Asked by `fakeserver dev, ")
		require.Contains(t, string(text), "| http-get-rpc-v | GET /rpc?v=1 | 301 | not said | same: 301 [ran] |\n")
	})
	t.Run("require", func(t *testing.T) {
		code, _, errs := conformAt(t, srv.URL(), "--require", "spec")
		require.Equal(t, exitOK, code, errs)
		code, out, errs := conformAt(t, srv.URL(), "--require", "client")
		require.Equal(t, exitFailed, code)
		require.Contains(t, out, "behaves like")
		require.Contains(t, errs, "the server differs from the real client in 13 of ")
	})
	t.Run("table cannot be printed", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.md")
		r, w := io.Pipe()
		require.NoError(t, r.Close())
		var errs bytes.Buffer
		code := execute(t.Context(), []string{"conform", "--url", srv.URL(), "--markdown", file}, strings.NewReader(""), w, &errs)
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs.String(), "fakeserver: cannot print to stdout: ")
		require.FileExists(t, file)
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

func TestConformWithoutATarget(t *testing.T) {
	code, _, errs := conformAt(t, "")
	require.Equal(t, exitUsage, code)
	require.Equal(t, "fakeserver: no server to ask: name --url, --ipc or both\n", errs)
}

func TestConformInterrupted(t *testing.T) {
	srv, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	stderr := writer(func(p []byte) {
		errs.Write(p)
		if strings.Contains(string(p), "http-empty-list") {
			cancel()
		}
	})
	code := execute(ctx, []string{"conform", "--url", srv.URL()}, strings.NewReader(""), &out, stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out.String(), "not tried (the run broke off)")
	require.Contains(t, errs.String(), "fakeserver: the run was interrupted\n")
}

func TestConformWithoutAServer(t *testing.T) {
	code, out, errs := conformAt(t, fmt.Sprintf("http://127.0.0.1:%d", ipctest.Port(t)))
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, "no server at 127.0.0.1:")
}
