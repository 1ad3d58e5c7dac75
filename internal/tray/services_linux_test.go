package tray

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
)

// fakePortal says what colours the user prefers.
type fakePortal struct {
	t      *testing.T
	conn   *dbus.Conn
	scheme chan uint32
}

func (s *session) portal(scheme uint32) *fakePortal {
	s.t.Helper()
	p := &fakePortal{s.t, s.connect(), make(chan uint32, 1)}
	p.scheme <- scheme
	require.NoError(s.t, p.conn.Export(p, desktop.PortalPath, desktop.PortalSettings))
	s.own(p.conn, desktop.Portal)
	return p
}

// own takes a name on the bus.
func (s *session) own(conn *dbus.Conn, name string) {
	s.t.Helper()
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	require.NoError(s.t, err)
	require.Equal(s.t, dbus.RequestNameReplyPrimaryOwner, reply)
}

// Read is called by who wants to know a setting.
func (p *fakePortal) Read(namespace, key string) (dbus.Variant, *dbus.Error) {
	if namespace+" "+key != "org.freedesktop.appearance color-scheme" {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.portal.Error.NotFound", nil)
	}
	scheme := <-p.scheme
	p.scheme <- scheme
	return dbus.MakeVariant(dbus.MakeVariant(scheme)), nil
}

// change has the user prefer other colours.
func (p *fakePortal) change(scheme uint32) {
	p.t.Helper()
	<-p.scheme
	p.scheme <- scheme
	require.NoError(p.t, p.conn.Emit(desktop.PortalPath, desktop.PortalSettings+".SettingChanged",
		"org.freedesktop.appearance", "color-scheme", dbus.MakeVariant(scheme)))
}

// picture is what a panel draws.
func (i *iconOnBus) picture() string { return fmt.Sprint(i.property("IconPixmap")) }

// TestColourSchemeIsFollowed: a desktop with light colours gets the dark icon, whenever they change, also from a portal that comes
// later; --icon has the last word.
func TestColourSchemeIsFollowed(t *testing.T) {
	s := newSession(t)
	panel := s.panel()
	fixed := s.tray(shadeEnv + "=light")
	light := panel.icon().picture()
	require.NoError(t, fixed.Process.Signal(syscall.SIGTERM))
	require.Zero(t, fixed.end())

	s.tray(shadeEnv + "=")
	icon := panel.icon()
	becomes := func(dark bool, when string) {
		testlab.Eventually(t, when, func() bool { return (icon.picture() != light) == dark })
	}
	require.Equal(t, light, icon.picture(), "nobody says what is preferred")
	portal := s.portal(2)
	becomes(true, "a portal comes, which prefers light colours")
	portal.change(1)
	becomes(false, "dark ones are preferred")
	portal.change(2)
	becomes(true, "light ones again")
	require.NoError(t, portal.conn.Close())
	s.portal(0)
	becomes(false, "a new portal, without a preference")
}

// notification is what a program wants shown.
type notification struct {
	program, text, body string
	replaces            uint32
}

// notifications is the service that shows them.
type notifications struct{ shown chan notification }

func (s *session) notifications() notifications {
	s.t.Helper()
	n, conn := notifications{make(chan notification, 10)}, s.connect()
	require.NoError(s.t, conn.Export(n, desktop.NotificationsPath, desktop.Notifications))
	s.own(conn, desktop.Notifications)
	return n
}

// Notify is called by a program.
func (n notifications) Notify(
	program string, replaces uint32, _, text, body string, _ []string, _ map[string]dbus.Variant, _ int32,
) (uint32, *dbus.Error) {
	n.shown <- notification{program, strings.NewReplacer("\u2068", "", "\u2069", "").Replace(text), body, replaces}
	return 7, nil
}

// TestNotifications: a button that is pressed while a client is connected shows a notification in place of the one before, if the
// agent's settings want that.
func TestNotifications(t *testing.T) {
	s := newSession(t)
	service := s.notifications()
	s.agent.start()
	icon := s.icon()
	say := func(v view) {
		s.agent.say(v)
		icon.shows(v)
	}
	next := func() notification {
		select {
		case n := <-service.shown:
			return n
		case <-time.After(time.Minute):
			require.FailNow(t, "no notification")
			return notification{}
		}
	}
	unwanted := func(v *view) { v.Status.NotifyMute = false }
	say(notifying(devices.False, unwanted))
	say(notifying(devices.True, unwanted))
	say(notifying(devices.False, unwanted))
	say(notifying(devices.False))
	say(notifying(devices.True))
	require.Equal(t, notification{program: "Acme Audio", text: "Acme Headset 700 is muted"}, next())
	say(notifying(devices.False))
	require.Equal(t, notification{program: "Acme Audio", text: "Acme Headset 700 is no longer muted", replaces: 7}, next())
}
