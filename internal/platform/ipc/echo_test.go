package ipc

import (
	"io"
	"net"
	"sync"
	"testing"
)

// echo answers every connection with what it sent.
func echo(t *testing.T, l net.Listener) {
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_, _ = io.Copy(c, c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
}
