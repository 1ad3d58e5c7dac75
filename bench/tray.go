//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sidetone/internal/signal"

	"github.com/godbus/dbus/v5"
)

const maxTrayRSS = 15 << 20 // the target for a tray whose menu has been shown

// trayChild is a tray on a session bus of its own, with a panel.
type trayChild struct {
	*child
	panel   *dbus.Conn
	signals chan *dbus.Signal
}

// startTray starts the tray of an agent, which ends with the measurement, and reads its menu as a panel does.
func (b *bench) startTray(ctx context.Context, agent *child) *trayChild {
	t := &trayChild{signals: make(chan *dbus.Signal, 100)}
	folder, err := os.MkdirTemp(b.dir, "bus")
	b.check(err)
	address := "unix:path=" + filepath.Join(folder, "bus")
	daemon := []string{"dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=" + address}
	b.cleanup(b.startAlone(&place{folder: folder}, command{"session bus", daemon, os.Environ()}).end)
	b.check(eventually(ctx, func() (err error) { t.panel, err = dbus.Connect(address); return err }))
	b.cleanup(t.panel.Close)
	_, err = t.panel.RequestName("org.kde.StatusNotifierWatcher", dbus.NameFlagDoNotQueue)
	b.check(err)
	b.check(t.panel.AddMatchSignal(dbus.WithMatchInterface("com.canonical.dbusmenu")))
	t.panel.Signal(t.signals)
	t.child = b.startAlone(&place{}, command{
		"tray",
		[]string{trayPath, "--address=" + agent.controlSocket(), "--lang=en", "--"},
		[]string{"DBUS_SESSION_BUS_ADDRESS=" + address, "HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "PATH=/usr/bin:/bin"},
	})
	b.cleanup(t.end)
	menu := t.panel.Object(fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", t.cmd.Process.Pid), "/StatusNotifierItem/menu")
	b.check(eventually(ctx, func() error {
		return menu.CallWithContext(ctx, "com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Err
	}))
	return t
}

// awaitMute returns when the panel has got a row that shows the mute.
func (t *trayChild) awaitMute(ctx context.Context, mute bool) time.Time {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	want := map[bool]string{true: "Microphone: muted", false: "Microphone: not muted"}[mute]
	for {
		select {
		case s := <-t.signals:
			if len(s.Body) > 0 && strings.Contains(fmt.Sprint(s.Body[0]), want) {
				return time.Now()
			}
		case <-ctx.Done():
			t.check(fmt.Errorf("wait for the tray to say the mute %t: %w; its last words:\n%s", mute, ctx.Err(), t.tail()))
		}
	}
}

// measureTray presses the mute button, and measures the time until a panel gets the row that shows it, and until the client has the
// payload.
func measureTray(ctx context.Context, b *bench, labs []*lab) []row {
	l := labs[0]
	agent := l.start(ctx, l.agent, overIPC)
	b.cleanup(agent.end)
	t := b.startTray(ctx, agent)
	var took comparison
	for i := range warmUp + pick(b, 200, 20) {
		mute, start := i%2 == 0, time.Now()
		b.check(l.press(ctx, mute))
		told, sent := t.awaitMute(ctx, mute), agent.awaitMute(ctx, mute)
		took.agent, took.bare = append(took.agent, told.Sub(start)), append(took.bare, sent.Time.Sub(start))
		b.check(signal.Sleep(ctx, changeGap))
	}
	took.agent, took.bare = took.agent[warmUp:], took.bare[warmUp:]
	most := limit{inAll: 50 * time.Millisecond}
	used := t.usage()
	return []row{
		took.row("mute to the row of the tray's menu, on the session bus", 50, "payload complete at the client", most),
		took.row("mute to the row of the tray's menu, on the session bus", 99, "payload complete at the client", most),
		{
			figure: "tray whose menu is shown: resident memory", measured: used.memory(),
			target: "≤ " + mib(maxTrayRSS), met: used.rss <= maxTrayRSS,
		},
	}
}

func eventually(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	for {
		err := try()
		if err == nil || signal.Sleep(ctx, 10*time.Millisecond) != nil {
			return err
		}
	}
}
