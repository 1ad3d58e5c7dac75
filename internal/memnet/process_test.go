package memnet

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/local"
)

func TestAFrozenProgramIsConnectedToUntilItsBacklogIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{Backlog: 2, Delay: jitter})
		p, me := n.Process(local.Process{PID: 7, UID: "1000", Name: "client"}), n.Process(local.Process{PID: 1})
		_, port, err := p.ListenPort([]int{6463})
		require.NoError(t, err)
		ln, path, err := p.ListenIPC("/run")
		require.NoError(t, err)
		p.Freeze()
		accepted := 0
		go func() {
			for {
				if _, err := ln.Accept(); err != nil {
					return
				}
				accepted++
			}
		}()
		for range 2 {
			_, err := me.DialPort(t.Context(), port)
			require.NoError(t, err)
			_, who, err := me.DialIPC(t.Context(), path)
			require.NoError(t, err)
			require.Equal(t, p.Process, who)
		}
		_, _, err = me.DialIPC(t.Context(), path)
		require.ErrorIs(t, err, syscall.EAGAIN)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = me.DialPort(short, port)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, accepted)
		p.Thaw()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 2, accepted)
		_, _, err = me.DialIPC(t.Context(), path)
		require.NoError(t, err)
		p.Kill()
		me.Kill()
	})
}

func TestAKilledProgramLeavesItsSocketFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		p, me := n.Process(local.Process{PID: 7}), n.Process(local.Process{PID: 1})
		news := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go n.Watch(ctx, func() { news++ })
		synctest.Wait()
		ln, path, err := p.ListenIPC("/run")
		require.NoError(t, err)
		require.Equal(t, "/run/discord-ipc-0", path)
		synctest.Wait()
		require.Equal(t, 1, news)
		c, _, err := me.DialIPC(ctx, path)
		require.NoError(t, err)
		s, err := ln.Accept()
		require.NoError(t, err)
		waiting, _, err := me.DialIPC(ctx, path)
		require.NoError(t, err)
		before := n.Sockets()

		p.Freeze()
		p.Kill()
		_, err = s.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = c.Read(make([]byte, 1))
		require.EqualError(t, err, "EOF")
		_, err = waiting.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, _, err = me.DialIPC(ctx, path)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, _, err = me.DialIPC(ctx, "/run/discord-ipc-1")
		require.ErrorIs(t, err, syscall.ENOENT)
		require.Equal(t, before, n.Sockets())

		next := n.Process(local.Process{PID: 8})
		_, again, err := next.ListenIPC("/run")
		require.NoError(t, err)
		require.Equal(t, path, again)
		require.NotEqual(t, before[0].ID, n.Sockets()[0].ID)
		next.Kill()
		me.Kill()
	})
}

func TestPortsHaveAnOwnerAndAnIdentity(t *testing.T) {
	n := New(Options{})
	p, q := n.Process(local.Process{PID: 7, UID: "1000"}), n.Process(local.Process{PID: 8, UID: "1001"})
	ports := []int{6463, 6464, 6465}
	ln, port, err := p.ListenPort(ports)
	require.NoError(t, err)
	require.Equal(t, 6463, port)
	_, port, err = q.ListenPort(ports)
	require.NoError(t, err)
	require.Equal(t, 6464, port)
	found := n.Ports(ports)
	require.Len(t, found, 2)
	require.Equal(t, []local.Process{p.Process, q.Process}, []local.Process{found[0].Process, found[1].Process})

	ln.(*Listener).Hide()
	require.Len(t, n.Ports(ports), 1)
	_, err = q.DialPort(t.Context(), 6463)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, _, err = q.ListenPort([]int{6463})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	ln.(*Listener).Show()
	require.NoError(t, ln.Close())
	require.ErrorIs(t, ln.Close(), net.ErrClosed)
	_, _, err = q.ListenPort([]int{6463})
	require.NoError(t, err)
	require.NotEqual(t, found[0].ID, n.Ports(ports)[0].ID)
	q.Kill()
	p.Kill()
	_, _, err = p.ListenPort([]int{0})
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, n.Ports(ports))
}

func TestAFrozenListenerAcceptsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{})
		p := n.Process(local.Process{PID: 7})
		defer p.Kill()
		ln, port, err := p.ListenPort([]int{0})
		require.NoError(t, err)
		ln.(*Listener).Freeze()
		_, err = p.DialPort(t.Context(), port)
		require.NoError(t, err)
		accepted := false
		go func() {
			_, err := ln.Accept()
			accepted = err == nil
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.False(t, accepted)
		ln.(*Listener).Thaw()
		synctest.Wait()
		require.True(t, accepted)
	})
}
