package platform_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/platform"
)

// TestTrouble: a want of permission is told from all else by the error, not by its words, and with what may not be read.
func TestTrouble(t *testing.T) {
	file := &fs.PathError{Op: "open", Path: "/dev/snd/controlC1", Err: syscall.EACCES}
	socket := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: "/run/pulse", Net: "unix"}, Err: os.NewSyscallError("connect", syscall.EACCES)}
	for _, c := range []struct {
		err  error
		code health.Code
		path string
	}{
		{file, health.AccessDenied, "/dev/snd/controlC1"},
		{fmt.Errorf("read: %w", socket), health.AccessDenied, "/run/pulse"},
		{syscall.EACCES, health.AccessDenied, ""},
		{errors.New("permission denied"), health.SoundServerAway, ""},
	} {
		trouble := platform.Trouble(c.err, health.SoundServerAway, nil)
		require.Equal(t, c.code, trouble.Code)
		require.Equal(t, c.path, trouble.Args["path"])
		require.EqualError(t, trouble, c.err.Error())
		require.ErrorIs(t, trouble, c.err)
		require.NoError(t, health.English.Check(trouble.Condition))
	}
}
