package hidio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

const (
	// readRetry is when a failed Read, a device whose reading has failed, and one that another program has exclusively, are tried again
	// without an event.
	readRetry = 30 * time.Second
	// openTimeout is how long one Read waits for devices that are being opened: the first reader of a device wakes it, which normally
	// takes 50 ms.
	openTimeout = time.Second
	// closeTimeout is how long Close waits for the kernel: closing a node waits for any request to the device, by whatever process, and
	// the kernel gives a device that does not react 5 s.
	closeTimeout = time.Second
)

// openRetries are the times after the first failure at which a device that cannot be read is tried again: when the OS announces a device
// its access may not be set yet, and one that is going is still listed for a moment.
var openRetries = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// manager keeps the wanted devices open.
type manager struct {
	backend backend
	handle  func(hid.Event)
	log     *slog.Logger
	changed signal.Signal
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	once    sync.Once
	working sync.WaitGroup // all goroutines except the backend's

	mu        sync.Mutex // guards the next four fields; never held for long
	want      Wanted
	afresh    bool             // the next Read retries what has failed
	announced map[string]bool  // nodes with an event since the last Read
	ports     map[string]*port // by node

	listing   sync.Mutex // guards the state of Read; held while the callback runs
	presences map[presenceID]*presence
	listed    bool               // there has been a Read
	notes     []health.Condition // of the last Read
	retry     time.Duration      // until Read is due without an event; 0 = never
}

// presence is a device from its arrival to its removal.
type presence struct {
	entry
	arrived bool          // it has just arrived
	told    bool          // an event has said that it is present
	opening *opening      // not nil while it is being opened
	port    *port         // not nil while it is being read
	broken  bool          // its reading has failed
	again   time.Time     // when it is to be opened again if it is broken
	err     error         // why it is not read
	failing time.Time     // since when
	failed  time.Time     // when that was last found
	denied  *health.Error // the reason in the last event, if that was Denied
}

// opening is a call of a backend's open, and its results.
type opening struct {
	*platform.Call
	began  time.Time
	conn   connection
	device hid.Device
	err    error
}

// New returns the HID devices of the OS below the folder root, or of the running system if root is "". want decides which devices to
// open; handle gets every event (see Devices for what it may do). What cannot be watched is in the notes. On an OS without a backend the
// error is errors.ErrUnsupported.
func New(root string, want Wanted, handle func(hid.Event), log *slog.Logger) (Devices, error) {
	b, err := newBackend(root, log)
	if err != nil {
		return nil, err
	}
	h := newManager(b, want, handle, log)
	b.watch(h.announce, h.changed.Notify)
	return h, nil
}

func newManager(b backend, want Wanted, handle func(hid.Event), log *slog.Logger) *manager {
	ctx, cancel := context.WithCancel(context.Background())
	return &manager{
		backend:   b,
		handle:    handle,
		log:       log,
		changed:   signal.New(),
		ctx:       ctx,
		cancel:    cancel,
		want:      want,
		announced: make(map[string]bool),
		ports:     make(map[string]*port),
		presences: make(map[presenceID]*presence),
	}
}

// announce notes an event of a node.
func (h *manager) announce(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.announced[node] = true
}

// Name returns "hid".
func (h *manager) Name() string { return "hid" }

// Want implements Devices.
func (h *manager) Want(want Wanted) {
	h.mu.Lock()
	h.want = want
	h.mu.Unlock()
	h.changed.Notify()
}

// Send implements Devices.
func (h *manager) Send(r hid.Request) {
	h.mu.Lock()
	port := h.ports[r.Node]
	h.mu.Unlock()
	if port != nil {
		port.enqueue(r)
	}
}

// Look implements Devices.
func (h *manager) Look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.ports {
		p.lookAgain()
	}
}

// Wait returns after a hot-plug, a change of access, a failure of a device, and when a device that could not be opened is due again. If ctx
// has ended, the next Read retries what has failed even without an event of the OS, and looks at all queues of reports, as after a sleep.
func (h *manager) Wait(ctx context.Context) error {
	h.listing.Lock()
	retry := h.retry
	h.listing.Unlock()
	_, err := h.changed.Wait(ctx, retry, h.ctx.Done())
	if ctx.Err() != nil {
		h.mu.Lock()
		h.afresh = true
		h.mu.Unlock()
	}
	return err
}

// Close ends Wait, the watching and the reading. There is no event after it. It returns an error if the kernel has not released a device
// in time; that device is then released later.
func (h *manager) Close() error {
	var errs []error
	h.once.Do(func() {
		h.cancel()
		errs = append(errs, h.backend.close())
		h.listing.Lock()
		defer h.listing.Unlock()
		for _, p := range h.presences {
			h.abandon(p)
			if p.port != nil {
				p.port.silence()
				p.port.close()
			}
		}
		errs = append(errs, h.waitIdle())
	})
	return errors.Join(errs...)
}

// waitIdle waits for all goroutines.
func (h *manager) waitIdle() error {
	idle := make(chan struct{})
	go func() {
		h.working.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("close HID devices: the kernel still waits for one of them; it gives up within seconds")
	}
}

// Read opens wanted devices that are not open, and closes those that are no longer wanted. Their events come before it returns. The notes
// name the wanted devices that are not read, and what is not watched.
func (h *manager) Read(ctx context.Context) (platform.Reading, error) {
	h.listing.Lock()
	defer h.listing.Unlock()
	err := h.read(ctx)
	return platform.Reading{Notes: append(h.backend.unwatched(), h.notes...)}, err
}

func (h *manager) read(ctx context.Context) error {
	if h.ctx.Err() != nil {
		return os.ErrClosed
	}
	h.notes, h.retry = nil, 0
	want, announced, afresh := h.takePending()
	present, err := h.scan(want.Knows)
	if err != nil {
		h.retry = readRetry
		return fmt.Errorf("list HID devices: %w", err)
	}
	var wanted []*presence
	for _, p := range present {
		h.review(p, afresh || announced[p.device.Node])
		if afresh && p.port != nil {
			p.port.lookAgain()
		}
		if !want.Wants(p.device) {
			h.release(p)
			continue
		}
		wanted = append(wanted, p)
		h.startOpening(p)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	for _, p := range wanted {
		h.awaitOpening(ctx, p)
	}
	return nil
}

// takePending returns, and resets, the inputs of the next Read.
func (h *manager) takePending() (want Wanted, announced map[string]bool, afresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	announced, h.announced = h.announced, make(map[string]bool)
	afresh, h.afresh = h.afresh, false
	return h.want, announced, afresh
}

// scan returns the devices that the OS lists, after it has released those that it lists no longer.
func (h *manager) scan(known func(hid.Device) bool) ([]*presence, error) {
	entries, err := h.backend.list(known)
	if err != nil {
		return nil, err
	}
	found := make(map[presenceID]*presence)
	var present []*presence
	for _, e := range entries {
		if e.unreadable != nil {
			h.note(e.device.Node, e.unreadable)
			h.retry = platform.Sooner(h.retry, readRetry)
			continue
		}
		p := h.presences[e.id]
		if p == nil {
			p = &presence{entry: e, arrived: h.listed}
		}
		p.device = e.device // more may be known of it than before
		found[e.id] = p
		present = append(present, p)
	}
	for id, p := range h.presences {
		if found[id] == nil {
			h.release(p)
		}
	}
	h.presences, h.listed = found, true
	return present, nil
}

// review checks whether a device has failed since the last Read. One that cannot be read any more is usually being removed; but a reset, or
// a link that dropped, ends reading as well, so it is opened again for as long as the OS lists it: at openRetries after the failure, then
// every readRetry, and at once after an event of the OS or a Refresh.
func (h *manager) review(p *presence, again bool) {
	if p.port != nil {
		if failure := p.port.failed.Load(); failure != nil {
			p.broken, p.again = true, time.Time{}
			p.noteFailure(*failure)
			h.forget(p)
		}
	}
	if again && p.broken {
		p.broken, p.err = false, nil
	}
}

// forget removes a device's port.
func (h *manager) forget(p *presence) {
	h.mu.Lock()
	delete(h.ports, p.device.Node)
	h.mu.Unlock()
	p.port = nil
}

// release stops using a device, and reports it Gone.
func (h *manager) release(p *presence) {
	h.abandon(p)
	if p.port != nil {
		p.port.silence()
		p.port.close()
		h.forget(p)
	}
	if p.told {
		h.handle(hid.Event{Kind: hid.Gone, Node: p.device.Node, At: time.Now()})
	}
	*p = presence{entry: entry{device: p.device, id: p.id}, broken: p.broken, again: p.again, err: p.err, failing: p.failing, failed: p.failed}
}

// startOpening begins to open a device, or what is not open of it, unless it has failed and is not to be tried again yet.
func (h *manager) startOpening(p *presence) {
	device := p.device // what the next scan sees of it may be more
	due, open := !time.Now().Before(p.again), func() (connection, error) { return h.backend.open(device.Node) }
	switch {
	case p.opening != nil, p.broken && (!due || p.again.IsZero()):
		return
	case p.port != nil:
		conn := p.port.conn
		if len(conn.refused()) == 0 || !due {
			return
		}
		open = func() (connection, error) { return conn, conn.openRest() }
	}
	p.again = time.Time{}
	o := &opening{Call: platform.NewCall(h.changed.Notify), began: time.Now()}
	p.opening = o
	h.working.Go(func() {
		o.Do(func() {
			if o.conn, o.err = open(); o.err == nil {
				o.device = o.conn.amend(device)
			}
		})
	})
}

// abandon has a device that is being opened closed as soon as it is open.
func (h *manager) abandon(p *presence) {
	if o := p.opening; o != nil {
		p.opening = nil
		h.working.Go(func() {
			o.Wait()
			if o.err == nil {
				_ = o.conn.close()
			}
		})
	}
}

// awaitOpening waits for the result of startOpening. If there is none when ctx ends, a later Read takes it.
func (h *manager) awaitOpening(ctx context.Context, p *presence) {
	if o := p.opening; o != nil {
		done := o.ReturnedBefore(ctx)
		if done {
			p.opening = nil
		}
		switch {
		case !done && h.ctx.Err() != nil:
			return
		case done && o.err == nil:
			h.handleOpened(p, o)
		case p.port != nil: // what is open of it is read all the same
		case !done:
			p.noteFailure(platform.ErrNoAnswer)
		default:
			p.noteFailure(o.err)
		}
	}
	if p.port == nil {
		h.reportUnread(p)
	} else {
		h.reportRefused(p)
	}
}

// handleOpened handles that a device is open, or more of it than before: it is then Attached once more, without having been Gone.
func (h *manager) handleOpened(p *presence, o *opening) {
	if p.port == nil {
		p.port = newPort(h, p.device.Node, o.conn)
		h.mu.Lock()
		h.ports[p.device.Node] = p.port // before the event, which may lead to requests
		h.mu.Unlock()
	}
	p.port.emit(hid.Event{Kind: hid.Attached, Device: &o.device, Plugged: p.arrived && p.plugged, At: time.Now()})
	p.arrived, p.broken, p.told, p.denied, p.err = false, false, true, nil, nil
	p.port.read(o.began)
}

// reportRefused notes what is not read of a device that is read otherwise, and has that alone tried again.
func (h *manager) reportRefused(p *presence) {
	refused := p.port.conn.refused()
	if len(refused) == 0 {
		return
	}
	wait := platform.NextTry(p.port.opened, openRetries)
	h.tryAgain(p, cmp.Or(wait, readRetry))
	if wait > 0 { // as for a whole device
		return
	}
	for _, r := range refused {
		h.note(p.device.String(), openTrouble(r.part, r.err))
	}
}

// noteFailure records why a device is not read. Neither a changed reason nor a failure soon after it could be opened again is a new
// failure: a device that hangs and then fails, or that fails whenever it is read, would be retried for ever.
func (p *presence) noteFailure(err error) {
	now := time.Now()
	if p.err == nil && now.Sub(p.failed) >= 2*readRetry {
		p.failing = now
	}
	p.err, p.failed = err, now
}

// reportUnread handles a device that is not read: it is retried silently a few times, then reported. Access to a device that was there
// from the start does not appear by itself.
func (h *manager) reportUnread(p *presence) {
	wait := platform.NextTry(p.failing, openRetries)
	if wait > 0 && (p.arrived || p.broken || !errors.Is(p.err, fs.ErrPermission)) {
		h.tryAgain(p, wait)
		if p.denied != nil { // what was reported stands until then
			h.note(p.device.String(), p.denied)
		}
		return
	}
	if p.broken || errors.Is(p.err, errBusy) { // there is no event when that ends
		h.tryAgain(p, readRetry)
	}
	trouble := openTrouble(h.backend.path(p.device.Node), p.err)
	h.note(p.device.String(), trouble)
	if p.broken || p.denied != nil && p.denied.Equal(trouble.Condition) {
		return
	}
	p.arrived, p.told, p.denied = false, true, trouble
	h.log.Warn("HID device left out", "device", p.device.String(), "err", trouble)
	device := p.device
	h.handle(hid.Event{Kind: hid.Denied, Node: device.Node, Device: &device, Reason: &trouble.Condition, At: time.Now()})
}

// tryAgain makes a Read due after a wait, or sooner if the device is to be tried sooner already.
func (h *manager) tryAgain(p *presence, wait time.Duration) {
	now := time.Now()
	if !now.Before(p.again) {
		p.again = now.Add(wait)
	}
	h.retry = platform.Sooner(h.retry, p.again.Sub(now))
}

func (h *manager) note(device string, trouble *health.Error) {
	h.notes = append(h.notes, health.Condition{
		Code: health.HIDLeftOut, Severity: health.Warning, Args: health.Args{"device": device}, Because: []health.Condition{trouble.Condition},
	})
}

// openTrouble returns why the node at path is not read.
func openTrouble(path string, err error) *health.Error {
	trouble := func(code health.Code) *health.Error {
		condition := health.Condition{Code: code, Severity: health.Problem, Args: health.Args{"path": path}}
		return &health.Error{Condition: condition, Cause: err}
	}
	switch {
	case errors.Is(err, errBusy):
		return trouble(health.HIDBusy)
	case errors.Is(err, fs.ErrPermission):
		return trouble(health.HIDDenied)
	case errors.Is(err, fs.ErrNotExist):
		return health.Wrap(err, health.HIDHidden, health.Problem, nil)
	default:
		return health.Wrap(err, health.HIDFails, health.Problem, nil)
	}
}
