//go:build cgo

package audio

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sound server that has stopped accepts connections and says nothing.
func TestMiniaudioChildHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "native")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	c := newChildLister()
	require.Greater(t, c.limit, miniaudioTimeout, "one that is slow may still tell")
	c.limit = 100 * time.Millisecond
	list, err := c.list(t.Context(), "unix:"+path)
	require.ErrorIs(t, err, errMiniaudioHangs)
	require.Empty(t, list)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newChildLister().list(ended, "unix:"+path)
	require.ErrorIs(t, err, errMiniaudioHangs, "it does not outlive the source")
}

func TestMiniaudioChildFails(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"says why":             {"echo chatter >&2; echo 'miniaudio: no server' >&2; exit 1", "miniaudio: no server"},
		"says nothing":         {"exit 1", "miniaudio: enumerate in a process of its own: exit status 1"},
		"crashes":              {"echo SIGSEGV >&2; echo goroutine 1 >&2; exit 2", "miniaudio: enumerate in a process of its own: exit status 2"},
		"says something else":  {"echo hello", "miniaudio: the list of its process: invalid character 'h' looking for beginning of value"},
		"leaves its pipe open": {"sleep 5 & exit 1", "miniaudio: enumerate in a process of its own: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "child")
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
			_, err := childLister{program, 20 * time.Second}.list(t.Context(), "")
			require.EqualError(t, err, c.want)
		})
	}
	_, err := childLister{filepath.Join(t.TempDir(), "gone"), time.Second}.list(t.Context(), "")
	require.ErrorContains(t, err, "no such file")
}
