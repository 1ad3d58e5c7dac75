package tray

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
)

// session is a desktop's session: a bus, and an agent that may run.
type session struct {
	t     *testing.T
	bus   *testlab.Bus
	home  string
	agent *fakeAgent
}

func newSession(t *testing.T) *session {
	s := newSessionWithoutBus(t)
	s.bus.Start()
	return s
}

func newSessionWithoutBus(t *testing.T) *session {
	t.Parallel()
	bus := testlab.NewBus(t)
	s := &session{t: t, bus: bus, home: t.TempDir(), agent: newAgent(t, filepath.Join(bus.Folder(), "sidetone", "acme", "agent.sock"))}
	bin := filepath.Join(s.home, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	// What is opened is noted; there is no clipboard.
	for name, does := range map[string]string{
		"xdg-open": `echo "$1" > "$HOME/opened.new" && mv "$HOME/opened.new" "$HOME/opened"`,
		"agent":    `echo first >&2; echo no catalogue >&2; exit 1`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700))
	}
	return s
}

// process is a tray.
type process struct {
	*exec.Cmd
	t     *testing.T
	log   *testlab.Output
	ended chan struct{}
}

// tray starts one.
func (s *session) tray(env ...string) *process {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	p := &process{Cmd: exec.Command(self), t: s.t, log: &testlab.Output{}, ended: make(chan struct{})}
	p.Env = append([]string{
		addressEnv + "=" + s.agent.address, startEnv + "=" + filepath.Join(s.home, "bin", "agent"), "HOME=" + s.home,
		"PATH=" + filepath.Join(s.home, "bin") + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + s.bus.Folder(), "GORACE=atexit_sleep_ms=10",
	}, env...)
	p.Stderr = p.log
	require.NoError(s.t, p.Start())
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	s.t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		if s.t.Failed() {
			s.t.Logf("the tray said:\n%s", p.log)
		}
	})
	return p
}

// end waits for the process's end, and returns its exit code.
func (p *process) end() int {
	p.t.Helper()
	testlab.Eventually(p.t, "the tray ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.ProcessState.ExitCode()
}

// panel is a desktop's tray that takes icons.
type panel struct {
	t     *testing.T
	conn  *dbus.Conn
	items chan string // names on the bus of who registers
}

func (s *session) panel() *panel {
	s.t.Helper()
	p := &panel{t: s.t, conn: s.connect(), items: make(chan string, 10)}
	require.NoError(s.t, p.conn.Export(p, "/StatusNotifierWatcher", desktop.TrayHost))
	reply, err := p.conn.RequestName(desktop.TrayHost, dbus.NameFlagDoNotQueue)
	require.NoError(s.t, err)
	require.Equal(s.t, dbus.RequestNameReplyPrimaryOwner, reply)
	return p
}

func (s *session) connect() *dbus.Conn {
	s.t.Helper()
	conn, err := dbus.Connect(s.bus.Address())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// RegisterStatusNotifierItem is called by an icon.
func (p *panel) RegisterStatusNotifierItem(sender dbus.Sender, _ string) *dbus.Error {
	p.items <- string(sender)
	return nil
}

// icon waits until an icon is registered.
func (p *panel) icon() *iconOnBus {
	p.t.Helper()
	select {
	case name := <-p.items:
		return &iconOnBus{p.t, p.conn, name}
	case <-time.After(90 * time.Second):
		require.FailNow(p.t, "no icon")
		return nil
	}
}

// icon starts a panel and a tray, and returns the icon of that.
func (s *session) icon() *iconOnBus {
	s.t.Helper()
	p := s.panel()
	s.tray()
	return p.icon()
}

// iconOnBus is the icon of a tray, as a panel sees it.
type iconOnBus struct {
	t    *testing.T
	conn *dbus.Conn
	name string
}

func (i *iconOnBus) property(name string) any {
	i.t.Helper()
	v, err := i.conn.Object(i.name, iconPath).GetProperty(iconInterface + "." + name)
	require.NoError(i.t, err)
	return v.Value()
}

func (i *iconOnBus) layout() rowLayout {
	i.t.Helper()
	var revision uint32
	var root rowLayout
	call := i.conn.Object(i.name, menuPath).Call(menuInterface+".GetLayout", 0, int32(0), int32(-1), []string{})
	require.NoError(i.t, call.Store(&revision, &root))
	return root
}

// shown is the menu as a panel shows it.
func (i *iconOnBus) shown() string {
	i.t.Helper()
	var b strings.Builder
	i.write(&b, i.layout(), "")
	return b.String()
}

func (i *iconOnBus) write(b *strings.Builder, of rowLayout, indent string) {
	for _, child := range of.Children {
		var l rowLayout
		require.NoError(i.t, dbus.Store([]any{child.Value()}, &l))
		value := func(name string) any { return l.Props[name].Value() }
		switch {
		case value("visible") == false:
			continue
		case value("type") == "separator":
			b.WriteString(indent + "---\n")
			continue
		}
		on := value("toggle-state") == int32(1)
		label := strings.NewReplacer("__", "_", "\u200e", "").Replace(value("label").(string))
		fmt.Fprintf(b, "%s%s enabled=%v check=%v\n", indent, label, value("enabled"), on)
		i.write(b, l, indent+"  ")
	}
}

// expected is the same of what menu says.
func expected(v view) string { return expectedRows(menu(v, texts.For(texts.English)), "") }

func expectedRows(items []item, indent string) (s string) {
	for _, it := range items {
		switch {
		case it.Separator:
			s += indent + "---\n"
		case it.Text != "":
			s += fmt.Sprintf("%s%s enabled=%v check=%v\n", indent, it.Text, !it.Disabled, it.Check != nil && *it.Check)
			s += expectedRows(it.Children, indent+"  ")
		}
	}
	return s
}

// shows waits until the menu is that of v.
func (i *iconOnBus) shows(v view) {
	i.t.Helper()
	v.Autostart = false
	var got string
	want := expected(v)
	look := func() <-chan time.Time { return time.After(10 * time.Millisecond) }
	testlab.Until(look, func() bool {
		got = i.shown()
		return got == want
	})
	require.Equal(i.t, want, got)
}

// click chooses the row with that text, as soon as there is one.
func (i *iconOnBus) click(text string) {
	i.t.Helper()
	testlab.Eventually(i.t, "the row "+text, func() bool { return i.clickIn(i.layout(), text) })
}

func (i *iconOnBus) clickIn(rows rowLayout, text string) bool {
	for _, child := range rows.Children {
		var l rowLayout
		require.NoError(i.t, dbus.Store([]any{child.Value()}, &l))
		if l.Props["label"].Value() == text {
			call := i.conn.Object(i.name, menuPath).Call(menuInterface+".Event", 0, l.ID, "clicked", dbus.MakeVariant(0), uint32(0))
			var said dbus.Error
			gone := text == "Quit" && errors.As(call.Err, &said) && said.Name == "org.freedesktop.DBus.Error.NoReply"
			require.True(i.t, call.Err == nil || gone, call.Err) // it may be gone before it has answered
			return true
		}
		if i.clickIn(l, text) {
			return true
		}
	}
	return false
}

// TestTheBusShowsTheMenu: what a panel gets is what menu says, for each of the views, one after the other in the same menu.
func TestTheBusShowsTheMenu(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	icon := s.icon()
	for _, which := range []string{
		"reporting", "muted", "many_products", "trouble", "nothing", "long_names", "right_to_left", "clients", "many_devices",
		"no_client", "paused",
		"reporting",
	} {
		s.agent.say(views[which])
		icon.shows(views[which])
		require.Equal(t, "Acme Audio", icon.property("Title"))
		require.Equal(t, tooltip(views[which], texts.For(texts.English)), icon.property("ToolTip").([]any)[2])
		require.NotEmpty(t, icon.property("IconPixmap"))
	}
}

// TestDirection of a row is that of its sentence, not of a name with which it begins.
func TestDirection(t *testing.T) {
	for text, want := range map[string]string{
		"Quit": "Quit", "\u2068Mic\u2069": "\u2068Mic\u2069",
		"\"\u2068" + arabic + "\u2069\" is bad": "\u200e\"\u2068" + arabic + "\u2069\" is bad",
		"\u2068Mic\u2069 רע":                    "\u200f\u2068Mic\u2069 רע",
	} {
		require.Equal(t, want, directed(text))
	}
}

// TestAnswersStay as they were when a property changes while one is being sent.
func TestAnswersStay(t *testing.T) {
	p := &busProps{of: iconInterface, values: make(map[string]dbus.Variant)}
	p.set("IconPixmap", []pixmap{{1, 1, []byte{1, 1, 1, 1}}})
	answer, err := p.GetAll(iconInterface)
	require.Nil(t, err)
	p.set("IconPixmap", []pixmap{{1, 1, []byte{2, 2, 2, 2}}})
	require.Equal(t, []pixmap{{1, 1, []byte{1, 1, 1, 1}}}, answer["IconPixmap"].Value())
}

func TestAgentComesAndGoes(t *testing.T) {
	s := newSession(t)
	icon := s.icon()
	icon.shows(views["down"])
	s.agent.start()
	icon.shows(views["reporting"])
	s.agent.stop()
	gone := views["down"]
	icon.shows(gone)
	s.agent.start()
	icon.shows(views["reporting"])
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	s := newSession(t)
	icon := s.icon()
	icon.click("Start")
	icon.shows(viewOf(agent(agentDown), func(v *view) {
		v.Notice = notice{"tray.agent.failed", texts.Args{"reason": "no catalogue"}}
	}))
}

// TestFailedStartIsTold, although the end of what was started may be reported before the action itself has ended.
func TestFailedStartIsTold(t *testing.T) {
	tr := &tray{Options: Options{Agent: "false", Log: slog.New(slog.DiscardHandler)}, changes: make(chan func(*view))}
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		tr.act(t.Context(), actionStart)
	}()
	v := view{Agent: agentDown, Notice: notice{Key: "tray.copied"}}
	for started := false; !started || v.Agent == agentStarting; {
		(<-tr.changes)(&v)
		if started {
			require.Equal(t, "tray.agent.failed", v.Notice.Key, "nothing else is said after the start")
		}
		started = started || v.Agent == agentStarting
	}
	<-acted
}

// TestStartByTheService: an agent that is started at log-in is started in that way, with the settings that it has there, and that of
// another vendor is not.
func TestStartByTheService(t *testing.T) {
	s := newSession(t)
	icon := s.icon()
	program := filepath.Join(s.home, "bin", "agent")
	starts := 0
	for status, want := range map[string]string{
		`{"installed": true}`: "service start",
		`{"installed": true, "address": "` + s.agent.address + `"}`:                         "service start",
		`{"installed": true, "address": "` + s.bus.Folder() + `/sidetone/beta/agent.sock"}`: "run --vendor=acme",
		`{"installed": false}`: "run --vendor=acme",
	} {
		starts++ // by which what is shown is told from what the one before has said
		require.NoError(t, os.WriteFile(program, fmt.Appendf(nil,
			"#!/bin/sh\ncase $1-$2 in service-status) echo '%s';; *) echo %d \"$@\" >&2;; esac\nexit 1\n", status, starts), 0o700))
		icon.click("Start")
		want = fmt.Sprint(starts, " ", want)
		icon.shows(viewOf(agent(agentDown), func(v *view) { v.Notice = notice{"tray.agent.failed", texts.Args{"reason": want}} }))
	}
}

// TestLogOfBefore: the log of an agent that does not run is found where it keeps it.
func TestLogOfBefore(t *testing.T) {
	s := newSession(t)
	log := filepath.Join(s.home, ".local/state/sidetone/acme/agent.log")
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	icon := s.icon()
	icon.shows(viewOf(agent(agentDown), func(v *view) { v.PreviousLog = log }))
	s.agent.start()
	icon.shows(viewOf())
}

func TestClicks(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	panel := s.panel()
	tray := s.tray()
	icon := panel.icon()
	icon.shows(viewOf())

	opened := func(file string) string {
		testlab.Eventually(t, file+" is opened", func() bool {
			name, _ := os.ReadFile(filepath.Join(s.home, "opened"))
			return strings.TrimSpace(string(name)) == filepath.Join(s.home, file)
		})
		data, err := os.ReadFile(filepath.Join(s.home, file))
		require.NoError(t, err)
		return string(data)
	}
	icon.click("Details…")
	require.Contains(t, opened("Sidetone-report.html"), "Acme Headset 700")
	icon.click("Copy diagnostics")
	require.Equal(t, "all is well\n", opened("Sidetone-diagnostics.txt"))

	logged := viewOf(func(v *view) {
		v.Status.LogFile, v.Notice.Key = filepath.Join(s.home, "state", "agent.log"), "tray.copied"
	})
	s.agent.say(logged)
	icon.shows(logged)
	icon.click("Open log folder")
	testlab.Eventually(t, "the folder is opened", func() bool {
		name, _ := os.ReadFile(filepath.Join(s.home, "opened"))
		return strings.TrimSpace(string(name)) == filepath.Join(s.home, "state")
	})

	icon.click("For 1 hour")
	icon.shows(views["paused"])
	icon.click("Resume reporting")
	icon.shows(viewOf())

	entry := filepath.Join(s.home, ".config/autostart/sidetone-tray.desktop")
	icon.click("Start at login")
	testlab.Eventually(t, "it starts at login", func() bool {
		_, err := os.Stat(entry)
		return err == nil && strings.Contains(icon.shown(), "Start at login enabled=true check=true")
	})
	icon.click("Start at login")
	testlab.Eventually(t, "it does not any more", func() bool {
		_, err := os.Stat(entry)
		return err != nil && strings.Contains(icon.shown(), "Start at login enabled=true check=false")
	})
	icon.click("Quit")
	require.Zero(t, tray.end(), tray.log)
}

// TestNoPanel: the tray runs on, and its icon is there as soon as a panel is, and again after the panel has restarted.
func TestNoPanel(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	tray := s.tray()
	testlab.Eventually(t, "it says that there is no tray", func() bool {
		return strings.Contains(tray.log.String(), "shows no tray icons yet")
	})
	panel := s.panel()
	panel.icon().shows(viewOf())
	require.NoError(t, panel.conn.Close())
	s.panel().icon().shows(viewOf())
	require.Equal(t, 1, strings.Count(tray.log.String(), "\n"), tray.log)
}

// TestNoBus: the tray runs on, starts no bus of its own, and is there as soon as there is a bus.
func TestNoBus(t *testing.T) {
	s := newSessionWithoutBus(t)
	s.agent.start()
	launch := filepath.Join(s.home, "bin", "dbus-launch")
	require.NoError(t, os.WriteFile(launch, []byte("#!/bin/sh\ntouch \"$HOME/launched\"\n"), 0o700))
	tray := s.tray()
	testlab.Eventually(t, "it says that there is no bus", func() bool { return strings.Contains(tray.log.String(), "no session bus") })
	s.bus.Start()
	s.panel().icon().shows(viewOf())
	require.NoFileExists(t, filepath.Join(s.home, "launched"))

	nowhere := s.tray("XDG_RUNTIME_DIR=")
	require.Equal(t, 1, nowhere.end())
	require.Contains(t, nowhere.log.String(), "start this in the desktop's session")
}

// TestBusRestarts: the icon is on the new bus, as it was on the old one, and goes on from there.
func TestBusRestarts(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	s.agent.say(views["muted"])
	panel := s.panel()
	s.tray()
	panel.icon().shows(views["muted"])
	s.bus.Kill()
	s.bus.Start()
	icon := s.panel().icon()
	icon.shows(views["muted"])
	s.agent.say(views["reporting"])
	icon.shows(views["reporting"])
}

func TestBusEnds(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	panel := s.panel()
	tray := s.tray()
	panel.icon().shows(viewOf())
	s.bus.Kill()
	require.Equal(t, 1, tray.end())
	require.Contains(t, tray.log.String(), errBusEnded.Error())
}

func TestOneInASession(t *testing.T) {
	s := newSession(t)
	panel := s.panel()
	first := s.tray()
	panel.icon()
	second := s.tray()
	require.Equal(t, 1, second.end())
	require.Contains(t, second.log.String(), fmt.Sprintf("has a tray icon of this agent already (process %d", first.Process.Pid))
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Zero(t, first.end())
	s.tray()
	panel.icon()
}

// TestPanelsAreAnsweredInOrder: libdbusmenu, which asks for the rows of all menus at once, shows a menu without rows where those are told
// before the row that opens it.
func TestPanelsAreAnsweredInOrder(t *testing.T) {
	s := newSession(t)
	icon := s.icon()
	onBus := icon.conn.Object(icon.name, menuPath)
	for range 20 {
		const calls = 100 // the bus holds 128 at most
		answers := make(chan *dbus.Call, calls)
		var asked []*dbus.Call
		for id := range int32(calls) {
			if id%10 == 0 {
				asked = append(asked, onBus.Go(menuInterface+".GetLayout", 0, answers, id, int32(-1), []string{}))
			} else {
				asked = append(asked, onBus.Go(menuInterface+".GetGroupProperties", 0, answers, []int32{id}, []string{}))
			}
		}
		for n, call := range asked {
			answer := <-answers
			require.NoError(t, answer.Err)
			require.Equal(t, call.Args, answer.Args, "answer %d", n)
		}
	}
}

// TestOnlyWhatChangesIsSent: nothing is on the bus while nothing changes; when a mute does, only its rows and what the icon shows.
func TestOnlyWhatChangesIsSent(t *testing.T) {
	s := newSession(t)
	s.agent.start()
	icon := s.icon()
	icon.shows(viewOf())
	signals := make(chan *dbus.Signal, 1000)
	ears := s.connect()
	require.NoError(t, ears.AddMatchSignal(dbus.WithMatchSender(icon.name)))
	ears.Signal(signals)

	s.agent.say(viewOf()) // equal: nothing to draw
	muted := viewOf(products(headset(1, "Acme Headset 700", devices.True)))
	s.agent.say(muted)
	icon.shows(muted)
	rows := make(map[string]bool)
	var others []string
	for len(rows) == 0 || len(others) < 2 {
		var sig *dbus.Signal
		select {
		case sig = <-signals:
		case <-time.After(time.Minute):
			require.FailNow(t, "not everything is sent", "rows %v, signals %v", rows, others)
		}
		member := sig.Name[strings.LastIndex(sig.Name, ".")+1:]
		if member != "ItemsPropertiesUpdated" {
			others = append(others, member)
			continue
		}
		var updated []struct {
			ID    int32
			Props map[string]dbus.Variant
		}
		require.NoError(t, dbus.Store(sig.Body[:1], &updated))
		for _, u := range updated {
			rows[u.Props["label"].Value().(string)] = true
		}
	}
	require.Equal(t, map[string]bool{"Microphone: muted, reported by the device": true}, rows)
	require.ElementsMatch(t, []string{"NewIcon", "NewToolTip"}, others, "LayoutUpdated would close an open menu on Qt's desktops")

	select {
	case sig := <-signals:
		require.FailNow(t, "something is sent although nothing has changed", sig.Name)
	case <-time.After(2 * time.Second):
	}
}
