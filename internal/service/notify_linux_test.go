package service

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTick(t *testing.T) {
	wait, stop, err := tick(time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, wait())
	require.NoError(t, wait())
	time.AfterFunc(time.Millisecond, stop)
	for err == nil {
		err = wait()
	}
	require.ErrorIs(t, err, os.ErrClosed)
}

// TestNobodyListens: an address of another time, as a desktop may leave it, is nothing to warn of, nor does it set a timer.
func TestNobodyListens(t *testing.T) {
	left := filepath.Join(t.TempDir(), "left")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: left, Net: "unixgram"})
	require.NoError(t, err)
	require.NoError(t, manager.Close())
	for _, address := range []string{left, filepath.Join(t.TempDir(), "none"), "@" + t.TempDir()} {
		n := NewNotifier(func(name string) string {
			return map[string]string{notifySocket: address, watchdogUsec: "240000000"}[name]
		})
		n.tick = func(time.Duration) (func() error, func(), error) { panic("a timer") }
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		n.Run(ctx, func() {}, goesOn(false), slog.New(slog.NewTextHandler(&log, nil)))
		cancel()
		require.Empty(t, log.String())
	}
}

func TestSendState(t *testing.T) {
	for _, address := range []string{filepath.Join(t.TempDir(), "s"), "@" + t.TempDir()} {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
		require.NoError(t, err)
		require.NoError(t, sendState(address, "READY=1"))
		said := make([]byte, 100)
		n, err := manager.Read(said)
		require.NoError(t, err)
		require.Equal(t, "READY=1", string(said[:n]))
		require.NoError(t, manager.Close())
		require.Error(t, sendState(address, "READY=1"))
	}
}
