package tray

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"sidetone/internal/brand"
	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/system"
	"sidetone/internal/report"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// Options configure a tray.
type Options struct {
	Address     string // of the agent's control socket
	Program     string // as users know it
	Version     string
	Vendor      string // the name to show until the agent has told its own
	Say         texts.Printer
	Shade       icon.Shade // "": by the colours that the user prefers
	Getenv      func(string) string
	Self        string   // the tray's program; "": do not notice its replacement
	Agent       string   // the agent's program
	Flags       []string // by which its verbs find the same agent
	Autostart   desktop.Entry
	Diagnostics func(context.Context) ([]byte, error) // what is copied for support
	Log         *slog.Logger
}

// frame is everything that is visible.
type frame struct {
	items   []item
	icon    []byte
	tooltip string
}

// queue holds the next frame to draw.
type queue chan frame

func newQueue() queue { return make(queue, 1) }

// show replaces a frame that has not been drawn yet. It never blocks; only one goroutine may call it.
func (q queue) show(f frame) { replace(q, f) }

// replace puts a value into a channel with room for one, in place of a value that nobody has taken yet.
func replace[T any](c chan T, value T) {
	select {
	case <-c:
	default:
	}
	c <- value
}

// host draws frames in the desktop's tray. show and notify return at once and may be called before run, which returns when ctx or the
// desktop's session ends.
type host interface {
	show(frame)
	notify(text string)
	run(ctx context.Context, on events) error
}

// events are what a host reports: what the user chooses, and the preferred colour scheme. chosen does not block.
type events struct {
	chosen func(action)
	scheme func(desktop.Scheme)
}

// tray is the state of Run.
type tray struct {
	Options
	agent   *control.Client
	desktop desktop.Desktop
	host    host
	view    view
	changes chan func(*view) // every change of view, in order
	actions *actions
	quit    context.CancelFunc
	program fs.FileInfo // the program file at the start of this process; nil: unknown
	newer   bool        // the program file has been replaced
}

// ErrReplaced means that the tray's program on disk has been replaced and the agent runs in another version: start the tray again.
var ErrReplaced = errors.New("the tray's program has been replaced")

// Run shows the agent until ctx ends or the user quits. It returns an error, too, when the desktop's session bus has ended, and
// ErrReplaced.
func Run(ctx context.Context, o Options) error {
	h, err := newHost(o)
	if err != nil {
		return err
	}
	return run(ctx, o, h)
}

func run(ctx context.Context, o Options, h host) error {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	t := &tray{
		Options: o, desktop: desktop.Desktop{Getenv: o.Getenv}, host: h, changes: make(chan func(*view)), actions: newActions(), quit: quit,
		agent: control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, o.Address) }),
	}
	t.view = view{
		Program: o.Program, Version: o.Version, Vendor: o.Vendor, Agent: agentDown, PreviousLog: previousLog(o),
		Autostart: t.desktop.Autostarts(o.Autostart),
	}
	t.program, _ = os.Stat(o.Self)
	t.host.show(t.frame())

	var failed error
	var working sync.WaitGroup
	working.Go(func() {
		failed = follow(ctx, o.Address, t.agent, func(change func(*view)) { t.tell(ctx, change) })
		if failed != nil {
			quit()
		}
	})
	working.Go(func() { t.draw(ctx) })
	go t.actions.run(ctx, t.act)
	err := t.host.run(ctx, events{
		chosen: t.choose,
		scheme: func(s desktop.Scheme) { t.tell(ctx, func(v *view) { v.Scheme = s }) },
	})
	quit()
	working.Wait()
	switch {
	case failed != nil:
		return failed
	case t.newer:
		return ErrReplaced
	}
	return err
}

// programReplaced reports whether an upgrade, to which the agent has switched already, has replaced this program, too.
func (t *tray) programReplaced() bool {
	if t.view.Agent != agentUp || t.view.Status.Version == t.Version || t.program == nil {
		return false
	}
	now, err := os.Stat(t.Self)
	return err == nil && (now.Size() != t.program.Size() || !now.ModTime().Equal(t.program.ModTime()))
}

// previousLog returns the log file of an earlier agent, or "".
func previousLog(o Options) string {
	path, err := paths.LogFile(o.Getenv, brand.NameOf(o.Agent), paths.VendorOf(o.Address))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// tell has the one goroutine that owns the view apply a change.
func (t *tray) tell(ctx context.Context, change func(*view)) {
	select {
	case t.changes <- change:
	case <-ctx.Done():
	}
}

// currentView returns a copy of the view.
func (t *tray) currentView(ctx context.Context) (v view) {
	got := make(chan view, 1)
	t.tell(ctx, func(now *view) { got <- *now })
	select {
	case v = <-got:
	case <-ctx.Done():
	}
	return v
}

// drawInterval is the shortest time between two frames: an agent that sends a lot keeps no desktop busy.
const drawInterval = 20 * time.Millisecond

// draw shows each change at once, and of changes that come faster than drawInterval the last.
func (t *tray) draw(ctx context.Context) {
	var drawn time.Time
	var due <-chan time.Time // nil: all that is known is drawn
	for {
		select {
		case change := <-t.changes:
			before := t.view
			change(&t.view)
			t.newer = t.programReplaced()
			if t.newer {
				t.quit()
				return
			}
			if text := muteNotice(before, t.view, t.Say.Isolated()); text != "" {
				t.host.notify(text)
			}
			if wait := drawInterval - time.Since(drawn); due == nil && wait > 0 {
				due = time.After(wait)
			}
			if due != nil {
				continue
			}
		case <-due:
			due = nil
		case <-ctx.Done():
			return
		}
		t.host.show(t.frame())
		drawn = time.Now()
	}
}

func (t *tray) frame() frame {
	return frame{menu(t.view, t.Say), icon.File(t.view.state(), t.shade()), tooltip(t.view, t.Say)}
}

// shade is the one from the options, else the one that contrasts with the user's colour scheme.
func (t *tray) shade() icon.Shade {
	switch {
	case t.Shade != "":
		return t.Shade
	case t.view.Scheme == desktop.PreferLight:
		return icon.Dark
	default:
		return icon.Light
	}
}

// choose queues what the user has chosen.
func (t *tray) choose(a action) {
	if a == actionQuit {
		t.quit() // whatever else is being done
		return
	}
	t.actions.add(a)
}

// act performs what the user has chosen, and shows a failure in the menu.
func (t *tray) act(ctx context.Context, a action) {
	t.tell(ctx, func(v *view) { v.Notice = notice{} }) // first: what is started here may report its failure at any time
	var err error
	switch a {
	case actionStart:
		err = t.start(ctx)
	case actionDetails:
		err = t.details(ctx)
	case actionCopy:
		if err = t.copy(ctx); err == nil {
			t.tell(ctx, func(v *view) { v.Notice = notice{Key: "tray.copied"} })
		}
	case actionPause, actionPauseHour, actionResume:
		err = t.pause(ctx, a)
	case actionLogs:
		err = t.show(ctx, filepath.Dir(t.currentView(ctx).logFile()))
	case actionAutostart:
		on := !t.desktop.Autostarts(t.Autostart)
		if err = t.desktop.SetAutostart(t.Autostart, on); err == nil {
			t.tell(ctx, func(v *view) { v.Autostart = on })
		}
	}
	if err != nil {
		t.failed(ctx, err)
	}
}

func (t *tray) failed(ctx context.Context, err error) {
	t.Log.Warn("tray: the chosen action failed", "error", err)
	t.tell(ctx, func(v *view) { v.Notice = failure("tray.failed", err) })
}

func failure(key string, err error) notice {
	return notice{key, texts.Args{"reason": texts.Clean(err.Error())}}
}

// start starts the agent as a process that outlives the tray, or by the service that starts it at log-in. The agent's socket shows that
// it runs; the end of what was started, that it failed.
func (t *tray) start(ctx context.Context) error {
	if t.currentView(ctx).Agent != agentDown {
		return nil // the row was chosen twice
	}
	args := append([]string{"run"}, t.Flags...)
	if t.installed(ctx) {
		args = []string{"service", "start"}
	}
	ended, err := startDetached(exec.Command(t.Agent, args...))
	if err != nil {
		return err
	}
	t.tell(ctx, func(v *view) { v.Agent = agentStarting })
	go func() {
		err := <-ended
		t.tell(ctx, func(v *view) {
			if v.Agent != agentStarting {
				return
			}
			v.Agent = agentDown
			if err != nil {
				v.Notice = failure("tray.agent.failed", err)
			}
		})
	}()
	return nil
}

// installed reports whether it is this agent, and not another vendor's, that the service starts, with the settings that it was installed
// with.
func (t *tray) installed(ctx context.Context) bool {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ask, t.Agent, "service", "status", "--json")
	system.Hide(cmd)
	text, _ := cmd.Output() // it fails while the agent does not run
	var state struct {
		Installed bool   `json:"installed"`
		Address   string `json:"address"`
	}
	return json.Unmarshal(text, &state) == nil && state.Installed && (state.Address == "" || state.Address == t.Address)
}

// pause begins or ends a pause. The agent's status then shows it.
func (t *tray) pause(ctx context.Context, a action) error {
	var request control.PauseRequest
	switch a {
	case actionResume:
		return t.agent.Resume(ctx)
	case actionPauseHour:
		request.ForMS = time.Hour.Milliseconds()
	}
	_, err := t.agent.Pause(ctx, request)
	return err
}

// askTimeout bounds the requests to the agent for one action.
const askTimeout = 10 * time.Second

// details shows the report in the user's browser.
func (t *tray) details(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	about := report.Input{}
	var err error
	if about.Status, err = t.agent.Status(ask); err != nil {
		return err
	}
	if about.Timeline, err = t.agent.Timeline(ask); err != nil {
		return err
	}
	about.Now = time.Now()
	return t.open(ctx, t.Program+"-report.html", report.Build(about, t.Say).HTML())
}

// copy puts the diagnostics for support into the clipboard, or shows them if no program can do that.
func (t *tray) copy(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := t.Diagnostics(ask)
	if err != nil {
		return err
	}
	if err = t.desktop.Copy(ctx, text); errors.Is(err, exec.ErrNotFound) {
		return t.open(ctx, t.Program+"-diagnostics.txt", text)
	}
	return err
}

// open writes a file and shows it.
func (t *tray) open(ctx context.Context, file string, data []byte) error {
	path, err := t.desktop.Save(file, data)
	if err != nil {
		return err
	}
	return t.show(ctx, path)
}

// show opens a file or folder in the desktop's program for it.
func (t *tray) show(ctx context.Context, path string) error {
	return t.desktop.Open(path, func(err error) { t.failed(ctx, err) })
}
