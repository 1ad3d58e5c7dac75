package tray

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/health"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
)

// TestForgedSignals: every program of the session may send what looks like a word of the bus, and ask for rows that are not there.
func TestForgedSignals(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	panel := s.panel()
	s.tray()
	icon := panel.icon()
	icon.shows(viewOf())
	stranger := s.connect()
	for _, body := range [][]any{{desktop.TrayHost}, {}, {desktop.TrayHost, "", ":1.1"}, {desktop.TrayHost, uint32(1), []string{"x"}, "y"}} {
		require.NoError(t, stranger.Emit("/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged", body...))
		forged := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/DBus")),
			dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.DBus"),
			dbus.FieldMember:    dbus.MakeVariant("NameOwnerChanged"), dbus.FieldDestination: dbus.MakeVariant(icon.name),
		}, Body: body}
		if len(body) > 0 {
			forged.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
		}
		stranger.Send(forged, nil)
	}
	menu := stranger.Object(icon.name, menuPath)
	for _, id := range []int32{-1, 1 << 30, -1 << 31} {
		require.Error(t, menu.Call(menuInterface+".Event", 0, id, "clicked", dbus.MakeVariant(0), uint32(0)).Err)
		require.Error(t, menu.Call(menuInterface+".GetLayout", 0, id, int32(-1<<31), []string{}).Err)
		require.Error(t, menu.Call(menuInterface+".GetProperty", 0, id, "label").Err)
	}
	icon.shows(viewOf())
	require.Empty(t, panel.items, "the icon is registered once")
}

// TestForgedClicks: a program that pretends that rows are chosen starts no second agent, and cannot choose what a user does not see.
func TestForgedClicks(t *testing.T) {
	s := newSession(t)
	started, hold := filepath.Join(s.home, "started"), filepath.Join(s.home, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.home, "bin", "agent"), []byte("#!/bin/sh\n"+
		"[ $1 = service ] && exit 1\necho again >>"+started+"\nwhile [ -e "+hold+" ]; do sleep 0.05; done\necho no catalogue >&2; exit 1\n"),
		0o700))
	icon := s.icon()
	icon.shows(viewOf(agent(agentDown)))
	onBus := s.connect().Object(icon.name, menuPath)
	rows := busRows(menu(viewOf(agent(agentDown)), texts.For(texts.English)))
	click := func(a action) {
		for id, row := range rows {
			if row.action == a {
				require.NoError(t, onBus.Call(menuInterface+".Event", 0, int32(id), "clicked", dbus.MakeVariant(0), uint32(0)).Err)
			}
		}
	}
	for id := range rows {
		if rows[id].action != actionQuit && rows[id].action != actionAutostart {
			for range 20 {
				require.NoError(t, onBus.Call(menuInterface+".Event", 0, int32(id), "clicked", dbus.MakeVariant(0), uint32(0)).Err)
			}
		}
	}
	icon.shows(viewOf(agent(agentStarting)))
	click(actionAutostart) // it is done after all before
	testlab.Eventually(t, "the entry is written", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.home, ".config/autostart/*"))
		return len(found) > 0
	})
	text, err := os.ReadFile(started)
	require.NoError(t, err)
	require.Equal(t, "again\n", string(text))
	require.NoFileExists(t, filepath.Join(s.home, "opened"))
	require.NoError(t, os.Remove(hold))
	testlab.Eventually(t, "why it has ended is shown", func() bool { return strings.Contains(icon.shown(), "no catalogue") })
}

// TestBusThatHangs: the tray waits for a bus that takes connections and says nothing, and ends when it is told to.
func TestBusThatHangs(t *testing.T) {
	for name, address := range map[string]string{"socket": "", "address": "unix:path=%s,guid=00"} {
		t.Run(name, func(t *testing.T) {
			s := newSessionWithoutBus(t)
			socket := filepath.Join(s.bus.Folder(), "bus")
			l, err := net.Listen("unix", socket)
			require.NoError(t, err)
			defer l.Close()
			tray := s.tray("DBUS_SESSION_BUS_ADDRESS=" + strings.Replace(address, "%s", socket, 1))
			conn, err := l.Accept()
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, tray.Process.Signal(syscall.SIGTERM))
			require.Zero(t, tray.end())
			require.Empty(t, tray.log.String())
		})
	}
}

// TestAgentThatEndsEachWatch is asked once a second, not all the time.
func TestAgentThatEndsEachWatch(t *testing.T) {
	for name, word := range map[string]string{"with nothing": "", "with a word": `{"pid": 1}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(s.agent.address), 0o700))
			l, err := ipc.ListenControl(s.agent.address)
			require.NoError(t, err)
			var asked atomic.Int32
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = io.WriteString(w, word)
			})}
			go server.Serve(l)
			defer server.Close()
			begun := time.Now()
			s.tray()
			testlab.Eventually(t, "it is asked again", func() bool { return asked.Load() >= 3 })
			require.GreaterOrEqual(t, time.Since(begun), 2*firstRetry)
		})
	}
}

// TestJunkInPlaceOfAnAgent: the remedy is not that for an agent that hangs, or is another user's.
func TestJunkInPlaceOfAnAgent(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
	for name, junk := range map[string]string{
		"no HTTP":    "SSH-2.0-OpenSSH_9.2\r\n",
		"no API":     "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n<html>\n",
		"no JSON":    head + "<html>\n",
		"no end":     head + "{" + strings.Repeat(" ", 16<<20),
		"other JSON": head + `{"status": "up"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(s.agent.address), 0o700))
			l, err := ipc.ListenControl(s.agent.address)
			require.NoError(t, err)
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					_, _ = io.WriteString(conn, junk)
					_ = conn.Close()
				}
			}()
			s.icon().shows(viewOf(agent(agentSilent), func(v *view) {
				v.Status, v.Reason = control.Status{}, &health.Condition{Code: health.AgentUnreadable, Severity: health.Problem}
			}))
		})
	}
}

// TestAgentThatSaysMuch is not stopped by that: all is read, and the last line is why it has ended.
func TestAgentThatSaysMuch(t *testing.T) {
	ended, err := startDetached(exec.Command("/bin/sh", "-c",
		"head -c 1000000 /dev/zero | tr '\\0' x >&2; printf '\nno catalogue\n' >&2; exit 1"))
	require.NoError(t, err)
	require.EqualError(t, <-ended, "no catalogue")
}
