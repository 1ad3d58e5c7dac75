package winpipe

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
	"github.com/stretchr/testify/require"
)

func TestTheFirstClientIsServed(t *testing.T) {
	path := `\\.\pipe\sidetone-test-` + rand.Text()
	require.False(t, Exists(path))
	l, err := Listen(path, winio.PipeConfig{})
	require.NoError(t, err)
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := winio.DialPipeContext(ctx, path)
	require.NoError(t, err)
	server := <-accepted
	require.True(t, Exists(path), "it is busy")
	require.NoError(t, server.Close())
	_, err = io.ReadAll(c)
	require.NoError(t, err, "nobody but the one who accepts has connected")
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	require.False(t, Exists(path))
	require.False(t, Exists("a\x00b"))
}
