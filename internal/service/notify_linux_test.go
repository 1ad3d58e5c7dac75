package service

import (
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
