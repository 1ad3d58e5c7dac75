package control

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// honest gets a number of pushes through, trying again where one is refused. Each waits in a queue of thousands.
func (s *stand) honest(pushes int) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	c := s.client()
	for n := 0; n < pushes; {
		_, err := c.Push(ctx, "acme-700", honestPush(uint64(n)))
		var p *Problem
		switch {
		case err == nil:
			n++
		case errors.As(err, &p) && p.Code == CodeBusy, errors.Is(err, syscall.EAGAIN):
		default:
			s.t.Error(err)
			return
		}
	}
}

func TestManyConnections(t *testing.T) {
	s := serve(t, nil)
	before := files(t)
	const total = 20_000 // of which 64 are served at a time
	var storm sync.WaitGroup
	var next atomic.Int64
	var through atomic.Bool
	for range 2 {
		storm.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(total) && through.Load() {
					return
				}
				if err := touch(s.path, i%10 == 0); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	const pushes = 10
	s.honest(pushes) // while the storm goes on
	through.Store(true)
	storm.Wait()
	seqs := map[uint64]int{}
	for _, p := range s.backend.pushed() {
		seqs[p.Seq]++
	}
	for n := range uint64(pushes) {
		require.Equal(t, 1, seqs[n], "each is applied once")
	}
	s.honest(1) // connections are taken in their order: with this answer the last of the storm has been
	s.fine()
	testlab.Eventually(t, "every file is closed", func() bool { return files(t) <= before })
}

// touch opens a connection, perhaps asks something, and closes it without a look at the
// answer. Where net.Dial fails because the queue is full, this waits for the server.
func touch(path string, ask bool) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	if ask {
		_ = syscall.Sendto(fd, []byte(aGet+"\r\n"), syscall.MSG_NOSIGNAL, nil) // it may have been turned away
	}
	return nil
}
