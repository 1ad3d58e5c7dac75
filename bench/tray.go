//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const maxTrayRSS = 15 << 20 // the target for a tray whose menu has been shown

// trayChild is a tray on a session bus of its own, with a panel.
type trayChild struct {
	*child
	bus     *child
	panel   *dbus.Conn
	signals chan *dbus.Signal
}

// startTray starts the tray of an agent, and reads its menu as a panel does.
func (b *bench) startTray(ctx context.Context, agent *child) (t *trayChild, err error) {
	t = &trayChild{bus: &child{place: &place{}}, child: &child{place: &place{}}, signals: make(chan *dbus.Signal, 100)}
	if t.bus.folder, err = os.MkdirTemp(b.dir, "bus"); err != nil {
		return nil, err
	}
	address := "unix:path=" + filepath.Join(t.bus.folder, "bus")
	daemon := []string{"dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=" + address}
	if err = t.bus.start(b.dir, command{"session bus", daemon, os.Environ()}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.stop())
		}
	}()
	if err = eventually(ctx, func() (err error) { t.panel, err = dbus.Connect(address); return err }); err != nil {
		return nil, err
	}
	if _, err = t.panel.RequestName("org.kde.StatusNotifierWatcher", dbus.NameFlagDoNotQueue); err != nil {
		return nil, err
	}
	if err = t.panel.AddMatchSignal(dbus.WithMatchInterface("com.canonical.dbusmenu")); err != nil {
		return nil, err
	}
	t.panel.Signal(t.signals)
	err = t.start(b.dir, command{
		"tray",
		[]string{trayPath, "--address=" + agent.controlSocket(), "--lang=en", "--"},
		[]string{"DBUS_SESSION_BUS_ADDRESS=" + address, "HOME=" + t.bus.folder, "XDG_RUNTIME_DIR=" + t.bus.folder, "PATH=/usr/bin:/bin"},
	})
	if err != nil {
		return nil, err
	}
	menu := t.panel.Object(fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", t.cmd.Process.Pid), "/StatusNotifierItem/menu")
	return t, eventually(ctx, func() error {
		return menu.CallWithContext(ctx, "com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Err
	})
}

func (t *trayChild) stop() (err error) {
	if t.cmd != nil {
		err = t.child.stop()
	}
	if t.panel != nil {
		_ = t.panel.Close()
	}
	return errors.Join(err, t.bus.stop())
}

// awaitMute returns when the panel has got a row that shows the mute.
func (t *trayChild) awaitMute(ctx context.Context, mute bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	want := map[bool]string{true: "Microphone: muted", false: "Microphone: not muted"}[mute]
	for {
		select {
		case s := <-t.signals:
			if len(s.Body) > 0 && strings.Contains(fmt.Sprint(s.Body[0]), want) {
				return time.Now(), nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the tray to say the mute %t: %w; its last words:\n%s", mute, ctx.Err(), t.tail())
		}
	}
}

// measureTray presses the mute button, and measures the time until a panel gets the row that shows it, and until the client has the
// payload.
func measureTray(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
	l := labs[0]
	agent, err := l.start(ctx, l.agent, overIPC)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	t, err := b.startTray(ctx, agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	var took comparison
	for i := range warmUp + pick(b, 200, 20) {
		mute, start := i%2 == 0, time.Now()
		if err := l.press(ctx, mute); err != nil {
			return nil, err
		}
		told, err := t.awaitMute(ctx, mute)
		if err != nil {
			return nil, err
		}
		sent, err := agent.awaitMute(ctx, mute)
		if err != nil {
			return nil, err
		}
		took.agent, took.bare = append(took.agent, told.Sub(start)), append(took.bare, sent.Time.Sub(start))
		if err := pause(ctx, changeGap); err != nil {
			return nil, err
		}
	}
	took.agent, took.bare = took.agent[warmUp:], took.bare[warmUp:]
	most := limit{inAll: 50 * time.Millisecond}
	used, err := t.usage()
	return []row{
		took.row("mute to the row of the tray's menu, on the session bus", 50, "payload complete at the client", most),
		took.row("mute to the row of the tray's menu, on the session bus", 99, "payload complete at the client", most),
		{
			figure: "tray whose menu is shown: resident memory", measured: used.memory(),
			target: "≤ " + mib(maxTrayRSS), met: used.rss <= maxTrayRSS,
		},
	}, err
}

func eventually(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	for {
		err := try()
		if err == nil || pause(ctx, 10*time.Millisecond) != nil {
			return err
		}
	}
}
