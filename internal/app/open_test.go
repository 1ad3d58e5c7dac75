package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab/ipctest"
)

// TestNothingStaysOpen: an agent that cannot start has closed what it had opened by then. Each source has goroutines
// until it is closed, and a lock that is held would keep the next agent out.
func TestNothingStaysOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no folder in which a process runs can be removed")
	}
	folder := ipctest.Folder(t)
	good := func() *Settings {
		set := bareSettings(t)
		set.Config.Sources = config.Sources{Audio: true, Camera: true, HID: true, Files: []string{filepath.Join(folder, "endpoints.yaml")}}
		set.Config.Control.Socket = filepath.Join(folder, "agent.sock")
		return set
	}
	taken := filepath.Join(folder, "taken", "agent.sock")
	listener, err := ipc.ListenControl(taken)
	require.NoError(t, err)
	defer listener.Close()
	gone := filepath.Join(folder, "gone") // below which no relative path can be found
	require.NoError(t, os.Mkdir(gone, 0o700))
	t.Chdir(gone)
	require.NoError(t, os.Remove(gone))

	host := Host{Getenv: func(string) string { return folder }}
	for name, spoil := range map[string]func(*Settings){
		"no catalogue":        func(s *Settings) { s.Catalogue = nil },
		"no folder of a file": func(s *Settings) { s.Config.Sources.Files = append(s.Config.Sources.Files, "more.yaml") },
		"another agent":       func(s *Settings) { s.Config.Control.Socket = taken },
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			set := good()
			spoil(set)
			_, err := New(Options{Settings: set, Host: host, Log: slog.New(slog.DiscardHandler)})
			require.Error(t, err)
			goleak.VerifyNone(t, before, ipctest.Kept)
			lock, err := ipc.LockClient(filepath.Join(folder, "sidetone"), set.Identity.ClientID)
			require.NoError(t, err, "the lock is free again")
			require.NoError(t, lock.Close())
		})
	}
}

// While an agent ends, its sources take a moment to close, and the local API still answers.
func TestQuestionsToAnAgentThatHasEnded(t *testing.T) {
	folder := t.TempDir()
	a, err := New(Options{
		Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = a.Run(ctx)
	require.Empty(t, a.Devices().Endpoints)
	require.Empty(t, a.Status().Products)
	for _, answer := range []any{a.Devices(), a.Status()} {
		text, err := json.Marshal(answer)
		require.NoError(t, err)
		require.NotContains(t, string(text), "null", "the API has empty lists")
	}
	require.NoError(t, a.Bundle(io.Discard))
	_, err = a.Push(t.Context(), "p", control.PushRequest{Owner: "suite"}, "")
	require.ErrorIs(t, err, control.ErrStopping)
}

// TestLogIsOfTheBrand: who reads it knows the program by that name.
func TestLogIsOfTheBrand(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "acme-agent")
	require.NoError(t, os.WriteFile(program+".brand.yaml", []byte(`vendor: {id: acme, client_id: "123456789012345678"}`), 0o600))
	var log bytes.Buffer
	a, err := New(Options{
		Settings: bareSettings(t), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Host: Host{Getenv: func(string) string { return folder }, Executable: func() (string, error) { return program, nil }},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Run(ctx))
	require.Contains(t, log.String(), `msg="acme-agent runs"`)
	require.Contains(t, log.String(), `msg="acme-agent has stopped"`)
	require.NotContains(t, log.String(), "sidetone")
}
