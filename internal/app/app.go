// Package app is the running agent: sources, Engine, rpcclient, local API, recordings, put
// together. Verbs, services, tests and the demo all start this one.
package app

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/crash"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/hidio"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/power"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
	"sidetone/internal/timeline"
)

// Options configure an App.
type Options struct {
	Settings   *Settings                 // in force at the start
	Load       func() (*Settings, error) // reads them again for Reload
	Host       Host
	Version    string         // of the program
	Log        *slog.Logger   // is called wherever a mute passes through, so it must not wait (package asynclog)
	OwnProcess bool           // the process is only the agent: crashes are reported and lead to safe mode
	EndProcess func()         // ends the process in order when the session ends, once clients have been told; nil: it ends with Run
	Overdue    func(error)    // ends the process, with the error of Run if there is one, if that hangs at its end; nil: nothing does
	LastCrash  int            // the code with which the previous process crashed; 0: it did not, or nobody knows
	LogFile    string         // in which Log is kept, for the bundle; "": none
	LogLevel   *slog.LevelVar // of Log; nil: it cannot be changed
	AwaitLocks time.Duration  // how long to wait for another agent that is about to end

	Try func(context.Context) error // has this program, as it is on disk now, show that it starts; nil: it cannot be started again
}

// App is an agent: sources feed the Engine, the Engine feeds the client. It is the control.Backend of its
// own local API.
type App struct {
	opts     Options
	log      *slog.Logger
	tail     logTail // of log
	started  time.Time
	instance string // of this start
	sources  []platform.Source
	kicks    []signal.Signal // one for each source: read it again
	hid      hidio.Devices   // among the sources; nil: none is read
	engine   *engine.Engine
	report   *reporter
	timeline *timeline.Ring
	serials  serials                            // for the mask of the bundle
	versions sync.Map                           // of the programs that sources read from, by source
	guard    atomic.Pointer[crash.Guard]        // nil: crashes are not reported
	safe     bool                               // in safe mode
	locked   bool                               // lock has been taken, or cannot be
	lock     *ipc.ClientLock                    // for the client id; nil: another agent for the same one would not be noticed
	listener net.Listener                       // nil: there is no local API
	settings atomic.Pointer[Settings]           // in force
	resolver atomic.Pointer[catalogue.Resolver] // of settings

	upgrading sync.Mutex                       // one program is tried at a time
	updating  bool                             // this agent is about to make way for the program on disk; guarded by upgrading
	untried   atomic.Pointer[health.Condition] // why the last update was refused; nil: it was not
	reloading sync.Mutex                       // one reading at a time, whoever asks
	refused   atomic.Pointer[health.Condition] // the last reload, if it was

	pausing   sync.Mutex // so that a pause and its file change together
	pauseKept bool       // there may be a file of a pause

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of anything
	ending  Ending        // how this agent would end now

	stopping context.Context       // ended by stop
	stop     context.CancelFunc    // ends the agent
	hanging  atomic.Bool           // exitIfHanging was called
	failed   atomic.Pointer[error] // why the agent ends, if that is an error
	farewell chan struct{}         // closed when clients have been told of the end
	begun    chan struct{}         // closed when this agent reports
}

// New opens everything that the settings name; Run closes it. It fails, and leaves nothing open, if the settings cannot be met, or if
// another agent speaks for the same vendor or client id.
func New(o Options) (*App, error) {
	a := &App{
		opts: o, started: time.Now(), changed: make(chan struct{}),
		farewell: make(chan struct{}), begun: make(chan struct{}), ending: EndsByItself, instance: cryptorand.Text(),
	}
	a.stopping, a.stop = context.WithCancel(context.Background())
	a.timeline = timeline.NewRing(timeline.Clock{Now: time.Now, Elapsed: power.Uptime}, o.Version)
	if a.opts.LogLevel == nil {
		a.opts.LogLevel = new(slog.LevelVar)
	}
	a.log = a.tail.attach(o.Log, a.opts.LogLevel)
	if err := a.open(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *App) open() error {
	set := a.opts.Settings
	if err := set.needCatalogue(); err != nil {
		return err
	}
	resolving, err := set.Engine()
	if err != nil {
		return err
	}
	if set.Ignored != nil {
		a.log.Warn("settings", "note", health.English.Phrase(*set.Ignored))
	}
	if err = a.awaitLocks(context.Background(), a.opts.AwaitLocks); err != nil {
		return err
	}
	if a.safe = a.guardCrashes(); a.safe {
		a.log.Error("safe mode: no HID devices, no writes to devices, no miniaudio", "reason", health.English.Phrase(safeMode))
	}
	a.resolver.Store(resolving.Resolver)
	if err = a.openSources(resolving.Resolver.HID); err != nil {
		return err
	}
	a.report = newReporter(a.log, a.timeline, a.clientMemory(), set.rpc(a.opts.Host, a.log))
	names := make([]string, len(a.sources))
	for i, src := range a.sources {
		names[i] = src.Name()
		a.kicks = append(a.kicks, signal.New())
	}
	a.engine = engine.New(engine.Options{
		Settings: resolving, Sources: names, Pause: a.keptPause(), Publish: a.report.publish, Known: a.timeline.Snapshot, Ask: a.ask, Log: a.log,
		HIDPPSoftwareID: byte(1 + rand.IntN(15)), Elapsed: power.Uptime,
	})
	a.settings.Store(set)
	return nil
}

// close releases what was opened and will not run.
func (a *App) close() {
	for _, src := range a.sources {
		_ = src.Close()
	}
	a.closeLocks()
}

// Run reports until ctx ends, or Stop or Upgrade ends the agent, and clients have been told. It can be called once. An error says why the
// agent had to end by itself.
func (a *App) Run(ctx context.Context) error {
	defer a.closeLocks()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(a.stopping, cancel)
	context.AfterFunc(ctx, a.stop)          // which also ends an Upgrade
	context.AfterFunc(ctx, a.exitIfHanging) // not once clients have been told: that may be what hangs
	// The sources and the Engine end before the reporter tells clients of the end, so that they publish nothing after that.
	stopInputs := a.runInputs(context.WithoutCancel(ctx))
	defer stopInputs()
	set := a.current()
	program := ProgramName(a.opts.Host)
	a.log.Info(program+" runs", "version", a.opts.Version, "vendor", set.Catalogue.Vendor.Name, "products", len(set.Catalogue.Products))
	close(a.begun)
	return a.runReporting(ctx, stopInputs)
}

// runReporting is the part of Run in which this agent has the locks.
func (a *App) runReporting(reporting context.Context, stopInputs func()) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	// The local API runs until clients have been told of the end: without it another agent would take this one for dead, and start to report.
	ctx, cancel := context.WithCancel(context.WithoutCancel(reporting))
	defer cancel()
	listener := a.listener // listenAgain may replace it
	if lock := a.lock; lock != nil {
		wg.Go(func() {
			err := lock.Watch(ctx, a.log, a.report.Repeat, func() { a.listenAgain(ctx, &wg) })
			switch {
			case errors.As(err, new(*ipc.ErrRunning)):
				a.failed.Store(&err)
				a.endAs(EndsByItself, rpcclient.ExitLeave) // what clients have is that agent's list
			case err != nil:
				a.log.Warn("after another vendor's agent has ended, devices with the same id stay away until the next change", "reason", err)
			}
		})
		wg.Go(func() { a.report.announceLosses(ctx, lock.Announce) })
	}
	wg.Go(func() { a.watchSession(ctx) })
	if listener != nil {
		wg.Go(func() { a.joinChanges(ctx) })
		wg.Go(func() { a.noteChanges(ctx) })
		wg.Go(func() { a.serve(ctx, listener) })
	}
	a.report.Run(reporting)
	a.exitIfHanging()
	stopInputs()
	a.log.Info(ProgramName(a.opts.Host) + " has stopped")
	close(a.farewell) // after which the process may end
	return a.failure()
}

// serve answers requests to the local API until ctx ends, or l is closed.
func (a *App) serve(ctx context.Context, l net.Listener) {
	if err := control.NewServer(a, a.log).Serve(ctx, l); err != nil {
		a.log.Error("the local API has ended", "reason", err)
	}
}

// exitIfHanging ends the process if the rest of Run, or what comes after it, hangs. It is called as soon as the end is decided: when the
// agent is told to stop, whatever hangs by then, or when it ends by itself. Nothing calls it off, since after Run the rest of the process
// may hang.
func (a *App) exitIfHanging() {
	if a.opts.Overdue == nil || a.hanging.Swap(true) {
		return
	}
	after := shutdownTimeout
	time.AfterFunc(after, func() {
		said, err := []any{"after", after}, a.failure()
		if err != nil {
			said = append(said, "reason", err) // of the end: nobody else will log it
		}
		go a.log.Warn("what is left to do hangs: the process ends without it", said...) // the log may be what hangs
		time.AfterFunc(time.Second, func() { a.opts.Overdue(err) })
	})
}

// failure returns the error with which the agent ends; nil: none is known.
func (a *App) failure() error {
	if err := a.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Ping returns when this agent reports and its Engine, through which everything goes, responds, or when ctx ends.
func (a *App) Ping(ctx context.Context) {
	select {
	case <-a.begun:
		a.engine.Ping()
	case <-ctx.Done():
	}
}

// shutdownTimeout is how long the end may take. Clients are told within half a second; the longest wait is for a HID device: 12 s.
var shutdownTimeout = 15 * time.Second

// EndTimeout is how long the locks of an agent that was told to end, or was killed, may stay taken.
const EndTimeout = 20 * time.Second

// runInputs runs the Engine and follows the sources until stop is called.
func (a *App) runInputs(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { a.engine.Run(ctx) })
	for i, src := range a.sources {
		wg.Go(func() { platform.Follow(ctx, src, a.kicks[i], a.observe) })
	}
	wg.Go(func() {
		if err := power.WatchResume(ctx, a.log, a.resumed); err != nil {
			a.log.Info("power events", "note", err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// current returns the settings in force.
func (a *App) current() *Settings { return a.settings.Load() }

// observe passes on what a source has read.
func (a *App) observe(o devices.Observation) {
	for _, e := range o.Endpoints {
		a.serials.add(e.Serial)
	}
	if o.Version != "" {
		a.versions.Store(o.Source, o.Version)
	}
	a.engine.Observe(o)
}

// ask sends a request of the Engine to a HID device.
func (a *App) ask(r hid.Request) {
	if a.hid != nil {
		a.hid.Send(r)
	}
}

// resumed is called after the machine has slept: nothing that was known before it woke is trusted.
func (a *App) resumed(woke time.Time) {
	a.log.Info("resumed from sleep: reading everything again")
	a.timeline.Resumed()
	a.engine.Resumed(woke)
	a.Refresh()
}

// Refresh reads all sources again and sends the whole list again.
func (a *App) Refresh() {
	a.kick()
	a.report.Resend()
}

// kick has all sources read again.
func (a *App) kick() {
	for _, kick := range a.kicks {
		kick.Notify()
	}
}
