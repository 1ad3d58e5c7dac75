package pipewire

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinksOfARealServer(t *testing.T) {
	ctx := platformtest.Deadline(t)
	s, err := testlab.StartSound(ctx, testlab.PipeWire)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	hs, err := s.PlugHeadset(ctx, testlab.Headset{Name: "acme", Description: "Acme", Vendor: "Acme", VID: "1209", PID: "0700", Serial: "1"})
	require.NoError(t, err)
	conn, err := pulse.Dial(ctx, s.Socket(), pulse.Options{Name: "test"})
	require.NoError(t, err)
	defer conn.Close()
	all, err := conn.Snapshot(ctx)
	require.NoError(t, err)

	socket := filepath.Join(s.Dir(), "pipewire-0")
	_, err = Watch(ctx, socket, all.Server.Cookie+1, "test", func() {})
	require.ErrorIs(t, err, ErrOther)
	_, err = Watch(ctx, socket+"-none", all.Server.Cookie, "test", func() {})
	require.ErrorIs(t, err, os.ErrNotExist)

	changed := signal.New()
	l, err := Watch(ctx, socket, all.Server.Cookie, "test", changed.Notify)
	require.NoError(t, err)
	// until waits for so many links, of two channels each.
	until := func(n int) {
		for {
			l.mu.Lock()
			there := len(l.links)
			l.mu.Unlock()
			if there == n {
				return
			}
			_, err := changed.Wait(ctx, 0, nil)
			require.NoError(t, err)
		}
	}
	until(2) // those of the headset itself
	module, err := s.LoadModule(ctx, "module-remap-source", "master="+hs.SourceName, "source_name=again")
	require.NoError(t, err)
	until(4)
	require.NoError(t, s.UnloadModule(ctx, module))
	until(2)
	require.NoError(t, l.Err())
	require.NoError(t, l.Close())
	require.Error(t, l.Err())

	l, err = Watch(ctx, socket, all.Server.Cookie, "test", changed.Notify)
	require.NoError(t, err)
	require.NoError(t, s.Kill())
	<-l.done
	require.Error(t, l.Err())
	require.NoError(t, l.Close())
}

// TestLinksOfABadServer: whatever it says ends the conversation at most.
func TestLinksOfABadServer(t *testing.T) {
	info := message(core, eventInfo, structOf(integer(0), integer(7)))
	done := message(core, eventDone, structOf(integer(0), integer(1)))
	ready := concat(info, message(core, eventDone, structOf(integer(0), integer(0))), done)
	link := message(registry, eventGlobal, structOf(integer(40), integer(0), text("PipeWire:Interface:Link")))
	cut := message(registry, eventGlobal, structOf(integer(40), pod(typeString, nil), pod(typeInt, []byte{1}), structOf()))
	cut[headerSize+8+16] = 0xff // the size of the text
	for name, c := range map[string]struct {
		says  []byte
		fails string // at the start; "": later
		heard int
	}{
		"ends at once":           {nil, "EOF", 0},
		"ends in a header":       {info[:7], "EOF", 0},
		"ends in a message":      {info[:20], "EOF", 0},
		"announces too much":     {concat(message(core, eventInfo, nil)[:4], []byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "too large", 0},
		"a cookie that is none":  {message(core, eventInfo, structOf(text("7"), text("7"))), ErrOther.Error(), 0},
		"an info without fields": {message(core, eventInfo, nil), ErrOther.Error(), 0},
		"done before it tells":   {concat(done, info), "EOF", 0},
		"an error at the start":  {concat(info, message(core, eventError, nil), done), "ends the conversation", 0},
		"links":                  {concat(ready, link, message(registry, eventGlobalRemove, structOf(integer(40)))), "", 2},
		"a number taken anew":    {concat(ready, link, link, message(registry, eventGlobal, structOf(integer(40))), cut), "", 3},
		"links that were there":  {concat(info, link, ready, cut), "", 1},
		"done with the greeting": {concat(info, ready[:len(ready)-len(done)]), "EOF", 0},
		"what is no link": {concat(ready, message(registry, eventGlobal, structOf(integer(40), integer(0), text("PipeWire:Interface:Node"))),
			message(registry, eventGlobalRemove, structOf(integer(40))), message(registry, eventGlobal, nil), message(9, 9, []byte{1})), "", 0},
		"an error": {concat(ready, message(core, eventError, nil), link), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			listener, err := net.Listen("unix", socket)
			require.NoError(t, err)
			served := make(chan struct{})
			go func() {
				defer close(served)
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 1024))
				_, _ = conn.Write(c.says)
				_ = conn.Close()
			}()
			var heard atomic.Int32
			l, err := Watch(platformtest.Deadline(t), socket, 7, "test", func() { heard.Add(1) })
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
			} else {
				require.NoError(t, err)
				<-l.done
				require.Error(t, l.Err())
				_ = l.Close()
				testlab.Eventually(t, "the last word", func() bool { return int(heard.Load()) == c.heard+1 })
			}
			require.NoError(t, listener.Close())
			<-served
		})
	}
}

func TestPings(t *testing.T) {
	here, there := net.Pipe()
	l := &Links{conn: here, done: make(chan struct{}), links: make(map[uint32]ends)}
	ended := make(chan error)
	go func() { ended <- l.follow(func() {}) }()
	_, err := there.Write(message(core, eventPing, structOf(integer(3), integer(4))))
	require.NoError(t, err)
	pong := message(core, methodPong, structOf(integer(3), integer(4)))
	got := make([]byte, len(pong))
	_, err = io.ReadFull(there, got)
	require.NoError(t, err)
	require.Equal(t, pong, got)
	require.NoError(t, there.Close())
	require.Error(t, <-ended)
}

func TestSocket(t *testing.T) {
	at := func(env map[string]string) string { return Socket(func(name string) string { return env[name] }) }
	require.Empty(t, at(nil))
	require.Equal(t, "/run/user/7/pipewire-0", at(map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}))
	require.Equal(t, "/p/other", at(map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "PIPEWIRE_RUNTIME_DIR": "/p", "PIPEWIRE_REMOTE": "other"}))
	require.Equal(t, "/s", at(map[string]string{"PIPEWIRE_REMOTE": "/s"}))
}

func TestLinksInto(t *testing.T) {
	l := &Links{links: make(map[uint32]ends)}
	global := func(id uint32, dictionary ...string) received {
		entries := [][]byte{integer(uint32(len(dictionary) / 2))}
		for _, s := range dictionary {
			entries = append(entries, text(s))
		}
		m := message(registry, eventGlobal, structOf(integer(id), integer(0), text("PipeWire:Interface:Link"), integer(3), structOf(entries...)))
		return received{registry, eventGlobal, m[headerSize:]}
	}
	for i, from := range []string{"7", "7", "8"} { // the first two are two channels
		require.True(t, l.changedBy(global(uint32(40+i), "link.input.node", "9", "object.serial", "5", "link.output.node", from)))
		require.Equal(t, 1+i/2, l.Into(9))
	}
	require.True(t, l.changedBy(global(42, "link.input.node", "nine", "link.output.node")))
	require.Equal(t, 1, l.Into(9))
	require.Zero(t, l.Into(7))
}
