package rpcclient

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
)

// note is a Store in memory.
type note struct {
	mu   sync.Mutex
	text []byte
}

func (n *note) Read() ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text == nil {
		return nil, fs.ErrNotExist
	}
	return n.text, nil
}

func (n *note) Write(text []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = bytes.Clone(text)
	return nil
}

// TestAClientThatAnsweredAnotherAgentIsBusy: the agent before was killed, and the first list of this one is not answered. The client is no
// one that does not know the command, and has the next list at once.
func TestAClientThatAnsweredAnotherAgentIsBusy(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{IPCDir: m.dir})
				opts := quick(s.Port())
				opts.Local, opts.Memory, opts.Transports, opts.OnExit = m, &note{}, only(tr), ExitLeave
				for _, what := range []any{s.Port(), s.IPCPath()} {
					m.own(what, local.Process{PID: 100, UID: someUser})
				}
				m.lineages[100] = local.Lineage{Started: 4711}
				h := m.start(opts)
				h.publish(devices.True)
				has(t, s, devices.True)
				eventually(t, "delivered", h.connected)
				h.stop()

				require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}))
				next := m.start(opts)
				next.publish(devices.True)
				eventually(t, "slow", func() bool { return next.session().State == Slow })
				require.Equal(t, []string{"Mic"}, next.session().Muted)
				next.publish(devices.False)
				eventually(t, "delivered", next.connected)
				require.Equal(t, devices.False, mute(s))
				next.stop()

				m.lineages[100] = local.Lineage{Started: 4712}
				require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer, Times: 1}))
				last := m.start(opts)
				last.publish(devices.False)
				eventually(t, "another process", func() bool { return last.session().State == Unsupported })
			})
		})
	}
}

// crowded is a machine on which sockets refuse connections while their queues are full.
type crowded struct {
	*machine
	is atomic.Bool
}

func (c *crowded) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	if c.is.Load() {
		return nil, local.Process{}, syscall.ECONNREFUSED
	}
	return c.machine.Dial(ctx, path)
}

// TestAClientThatCouldNotBeReachedHasAnsweredBefore: its socket refused for a while, and was forgotten.
func TestAClientThatCouldNotBeReachedHasAnsweredBefore(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true})
		crowded := &crowded{machine: m}
		opts := quick()
		opts.Local = crowded
		h := m.start(opts)
		h.publish(devices.False)
		eventually(t, "delivered", h.connected)
		require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}))
		crowded.is.Store(true)
		s.DropConnections()
		eventually(t, "forgotten", func() bool { return len(h.Status().Sessions) == 0 })
		crowded.is.Store(false)
		eventually(t, "slow", func() bool { return h.session().State == Slow })
	})
}

func TestMemoryIsBoundedAndForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c := New(Options{ClientID: clientID})
	for i := range maxRemembered + 1 {
		c.memory.add(clientKey{Socket: "1:2:3", PID: 1 + i, Started: 7}, time.Time{})
	}
	c.memory.add(clientKey{PID: 4711}, time.Time{}) // nothing tells it from the next process with this pid
	require.Len(t, c.memory.known, maxRemembered)
	for key, want := range map[clientKey]bool{
		{Socket: "1:2:3", PID: 1, Started: 7}:          false,
		{Socket: "1:2:3", Port: 5, PID: 2, Started: 7}: true,
		{Socket: "1:2:3", PID: 2, Started: 8}:          false,
	} {
		_, known := c.memory.find(key)
		require.Equal(t, want, known)
	}
}

// brokenStore cannot be read.
type brokenStore struct{ note }

func (*brokenStore) Read() ([]byte, error) { return nil, errors.New("input/output error") }

func TestABrokenMemoryIsEmpty(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]Store{
		"half":     &note{text: []byte(`[{"socket":"1:2:3","pi`)},
		"foreign":  &note{text: []byte(`{"theme":"dark"}`)},
		"numbers":  &note{text: []byte(`[1,2]`)},
		"unread":   &brokenStore{},
		"no store": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{ClientID: clientID, Memory: store})
			require.Empty(t, c.memory.known)
			_, known := c.memory.find(clientKey{Socket: "1:2:3"})
			require.False(t, known)
		})
	}
}

// fullStore has no room.
type fullStore struct {
	note
	full atomic.Bool
}

func (s *fullStore) Write(text []byte) error {
	if s.full.Load() {
		return syscall.ENOSPC
	}
	return s.note.Write(text)
}

// TestTheMemoryIsStoredAfterAFailedWrite, with the next answer to a first list, or at the end.
func TestTheMemoryIsStoredAfterAFailedWrite(t *testing.T) {
	for name, again := range map[string]func(*fakeserver.Server, *harness){
		"at the next answer": func(s *fakeserver.Server, h *harness) {
			s.DropConnections()
			eventually(t, "delivered again", func() bool { return len(h.delivered()) > 1 })
		},
		"at the end": func(_ *fakeserver.Server, h *harness) { h.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true})
				opts, store := quick(), &fullStore{}
				store.full.Store(true)
				opts.Local, opts.Memory = m, store
				h := m.reporting(opts, devices.True, time.Second)
				require.Empty(t, store.text)
				store.full.Store(false)
				again(s, h)
				pass(time.Second)
				require.Contains(t, string(store.text), "socket")
			})
		})
	}
}

// slowStore takes an hour for each write.
type slowStore struct{ note }

func (s *slowStore) Write(text []byte) error {
	time.Sleep(time.Hour)
	return s.note.Write(text)
}

func TestNoListWaitsForTheMemory(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{IPCDir: m.dir, NoTCP: true})
		opts := quick()
		opts.Local, opts.Memory = m, &slowStore{}
		h := m.reporting(opts, devices.True, time.Second)
		require.Equal(t, devices.True, mute(s))
		h.publish(devices.False)
		pass(10 * time.Millisecond)
		require.Equal(t, devices.False, mute(s))
	})
}
