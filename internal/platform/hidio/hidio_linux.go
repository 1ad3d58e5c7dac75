package hidio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
	"sidetone/internal/signal"
)

const (
	// readRetry is when a failed Read is tried again without an event.
	readRetry = 30 * time.Second
	// openTimeout is how long one Read waits for devices that are being opened: the first
	// reader of a device wakes it, which takes 50 ms if all is well.
	openTimeout = time.Second
	// closeTimeout is how long Close waits for the kernel: closing a node waits for any request to
	// a device, of whatever process, and the kernel gives a device that does not react 5 s.
	closeTimeout = time.Second
)

// openRetries are the times after the first failure at which a device that cannot be read is
// tried again by itself: at the kernel's "add" udev has not yet set the node's access, and a
// device that is going is still listed for a moment.
var openRetries = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// manager opens hidraw nodes.
type manager struct {
	linux.Tree
	handle  func(hid.Event)
	open    func(path string) (*os.File, error)
	send    sender
	log     *slog.Logger
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once
	working sync.WaitGroup // every goroutine but those of hotplug
	hotplug *linux.Hotplug // nil: nothing is watched

	mu        sync.Mutex // guards the next three, for moments only
	want      func(hid.Device) bool
	announced map[string]bool  // nodes of which the OS has said something since the last Read
	ports     map[string]*port // by node

	listing   sync.Mutex // guards what a Read does; held while the callback runs
	presences map[presenceID]*presence
	detached  map[presenceID]bool // USB interfaces that are there, but for a HID device of theirs that has gone
	listed    bool                // there has been a Read
	notes     []health.Condition  // of the last Read
	retry     time.Duration       // until Read is due without an event; 0 = never
}

// presenceID tells one presence of a device from the next one that gets the same node. The kernel
// numbers HID devices in the order of their coming, and the number is part of the path:
// .../0003:1209:0700.0007/hidraw/hidraw3.
type presenceID struct {
	path  string // below /sys, without links
	inode uint64
}

// presence is a device from its coming to its going.
type presence struct {
	device  hid.Device
	iface   presenceID      // the USB interface that it is; zero: none
	arrived bool            // it was seen to come just now
	plugged bool            // and not only its driver
	opening chan openResult // not nil while the kernel opens it; gets one value
	late    *atomic.Bool    // nobody waits for the opening any more
	port    *port           // not nil while it is read
	broken  bool            // its reading has failed
	err     error           // why it is not read
	failing time.Time       // since when
	denied  *health.Error   // of the last event, if that was Denied
}

type openResult struct {
	file *os.File
	err  error
}

// New returns the HID devices. root is the folder that holds sys and dev; "" means that of
// the running system. want is asked which devices to open, with all that is known of them
// without opening them; handle gets every event (see Devices for what it may do). What cannot be
// watched is said in the notes.
func New(root string, want func(hid.Device) bool, handle func(hid.Event), log *slog.Logger) (Devices, error) {
	tree, err := linux.OpenTree(root)
	if err != nil {
		return nil, fmt.Errorf("hid source: %w", err)
	}
	h := newManager(tree, want, handle, log)
	h.watch()
	return h, nil
}

func newManager(tree linux.Tree, want func(hid.Device) bool, handle func(hid.Event), log *slog.Logger) *manager {
	return &manager{
		Tree:      tree,
		handle:    handle,
		open:      openNode,
		send:      sendRequest,
		log:       log,
		changed:   signal.New(),
		closed:    make(chan struct{}),
		want:      want,
		announced: make(map[string]bool),
		ports:     make(map[string]*port),
		presences: make(map[presenceID]*presence),
		detached:  make(map[presenceID]bool),
	}
}

func (h *manager) watch() {
	h.hotplug = linux.WatchHotplug("HID device", "hidraw", h.Dev, h.announce, h.log, h.changed.Notify)
}

var hidrawName = regexp.MustCompile(`^hidraw[0-9]+$`)

// announce notes that something has happened to a node, and is false for other files.
func (h *manager) announce(name string) bool {
	if !hidrawName.MatchString(name) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.announced[name] = true
	return true
}

// Name is "hid".
func (h *manager) Name() string { return "hid" }

// Want is explained at Devices.
func (h *manager) Want(want func(hid.Device) bool) {
	h.mu.Lock()
	h.want = want
	h.mu.Unlock()
	h.changed.Notify()
}

// Send is explained at Devices.
func (h *manager) Send(r hid.Request) {
	h.mu.Lock()
	port := h.ports[r.Node]
	h.mu.Unlock()
	if port != nil {
		port.enqueue(r)
	}
}

// Wait returns after a hot-plug, after a change of access, when a device has failed, and when
// one that could not be opened is due again.
func (h *manager) Wait(ctx context.Context) error {
	h.listing.Lock()
	retry := h.retry
	h.listing.Unlock()
	_, err := h.changed.Wait(ctx, retry, h.closed)
	return err
}

// Notes names the wanted devices that are not read, and what is not watched.
func (h *manager) Notes() []health.Condition {
	h.listing.Lock()
	defer h.listing.Unlock()
	var notes []health.Condition
	if h.hotplug != nil {
		notes = h.hotplug.Notes()
	}
	return append(notes, h.notes...)
}

// Close ends Wait, the watching and the reading. There is no event after it. It returns an
// error if the kernel has not let go of a device in time; that then ends by itself.
func (h *manager) Close() error {
	var errs []error
	h.once.Do(func() {
		close(h.closed)
		if h.hotplug != nil {
			errs = append(errs, h.hotplug.Close())
		}
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

// waitIdle waits until nothing works any more.
func (h *manager) waitIdle() error {
	idle := make(chan struct{})
	go func() {
		h.working.Wait()
		close(idle)
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
		return errors.New("close HID devices: the kernel still waits for one of them; it gives up within seconds")
	}
}

// Read opens what is wanted and not yet open, and closes what is not wanted any more. Its
// events come before it returns.
func (h *manager) Read(ctx context.Context) error {
	h.listing.Lock()
	defer h.listing.Unlock()
	if h.isClosed() {
		return os.ErrClosed
	}
	h.notes, h.retry = nil, 0
	want, announced := h.takePending()
	present, err := h.scan()
	if err != nil {
		h.retry = readRetry
		return fmt.Errorf("list HID devices: %w", err)
	}
	var wanted []*presence
	for _, p := range present {
		h.review(p, announced[p.device.Node])
		if !want(p.device) {
			h.release(p)
			continue
		}
		wanted = append(wanted, p)
		h.startOpening(p)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for _, p := range wanted {
		h.awaitOpening(ctx, p)
	}
	return nil
}

func (h *manager) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// takePending returns what the next Read is to go by.
func (h *manager) takePending() (want func(hid.Device) bool, announced map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	announced, h.announced = h.announced, make(map[string]bool)
	return h.want, announced
}

// scan returns the devices that sysfs lists, in the order of their nodes' numbers, after it
// has let go of those that it does not list any more.
func (h *manager) scan() ([]*presence, error) {
	entries, err := h.Class("hidraw")
	if err != nil {
		return nil, err
	}
	found := make(map[presenceID]*presence)
	var present []*presence
	for _, entry := range entries {
		name := filepath.Base(entry)
		id, ok := identify(entry)
		if !hidrawName.MatchString(name) || !ok { // an entry that leads nowhere is just going
			continue
		}
		p := h.presences[id]
		if p == nil {
			device, err := describe(id.path)
			if err != nil {
				if linux.Exists(id.path) {
					h.note(name, health.Wrap(err, health.Unexplained, health.Warning, nil))
				}
				continue
			}
			p = &presence{device: device, arrived: h.listed, plugged: justConnected(device.Bus, id.path)}
			if dir := usbInterfaceDir(id.path); dir != "" {
				p.iface, _ = identify(dir)
				p.plugged = p.plugged && !h.detached[p.iface]
			}
		}
		found[id] = p
		present = append(present, p)
	}
	for id, p := range h.presences {
		if found[id] == nil {
			h.release(p)
			h.leave(p)
		}
	}
	h.presences, h.listed = found, true
	return present, nil
}

// leave notes that a HID device has gone, and forgets the USB interfaces that are gone as well.
func (h *manager) leave(p *presence) {
	h.detached[p.iface] = true
	for id := range h.detached {
		if now, _ := identify(id.path); now != id {
			delete(h.detached, id)
		}
	}
}

// review looks whether a device has failed since the last Read. One whose reading has failed is
// mostly one that is going: it is opened again only after the OS has said something of it.
func (h *manager) review(p *presence, announced bool) {
	if p.port != nil && p.port.isDone() {
		p.broken = true
		p.noteFailure(p.port.err)
		h.forget(p)
	}
	if announced && p.broken {
		p.broken, p.err = false, nil
	}
}

// forget takes a port out of use.
func (h *manager) forget(p *presence) {
	h.mu.Lock()
	delete(h.ports, p.device.Node)
	h.mu.Unlock()
	p.port = nil
}

// release ends what is done with a device, and says so.
func (h *manager) release(p *presence) {
	h.abandon(p)
	gone := hid.Event{Kind: hid.Gone, Node: p.device.Node, At: time.Now()}
	if p.port != nil {
		p.port.emit(gone)
		p.port.close()
		h.forget(p)
	} else if p.denied != nil {
		h.handle(gone)
	}
	*p = presence{device: p.device, iface: p.iface, broken: p.broken, err: p.err, failing: p.failing}
}

// startOpening begins to open a device that is not open.
func (h *manager) startOpening(p *presence) {
	if p.port != nil || p.opening != nil || p.broken {
		return
	}
	opened, late, path := make(chan openResult, 1), new(atomic.Bool), h.path(p)
	p.opening, p.late = opened, late
	h.working.Go(func() {
		file, err := h.open(path)
		opened <- openResult{file, err}
		if late.Load() {
			h.changed.Notify()
		}
	})
}

func (h *manager) path(p *presence) string { return filepath.Join(h.Dev, p.device.Node) }

// abandon closes what is being opened as soon as it is open.
func (h *manager) abandon(p *presence) {
	if opened := p.opening; opened != nil {
		p.opening = nil
		h.working.Go(func() {
			if o := <-opened; o.file != nil {
				_ = o.file.Close()
			}
		})
	}
}

// awaitOpening deals with the outcome of an opening; one that is not there when ctx ends is left to a
// later Read.
func (h *manager) awaitOpening(ctx context.Context, p *presence) {
	if p.opening != nil && !p.late.Load() {
		select {
		case o := <-p.opening:
			h.handleOpened(p, o)
		case <-ctx.Done():
			p.late.Store(true) // from now on its end notifies
		case <-h.closed:
			return
		}
	}
	if p.opening != nil {
		select { // the time went to another device; this one may have been opened long ago
		case o := <-p.opening:
			h.handleOpened(p, o)
		default:
			p.noteFailure(linux.ErrNoAnswer)
		}
	}
	if p.port == nil {
		h.reportUnread(p)
	}
}

func (h *manager) handleOpened(p *presence, o openResult) {
	p.opening = nil
	if o.err == nil {
		p.port, o.err = newPort(h, p.device.Node, o.file)
	}
	if o.err != nil {
		p.noteFailure(o.err)
		return
	}
	h.mu.Lock()
	h.ports[p.device.Node] = p.port // before the event, which may bring requests
	h.mu.Unlock()
	device := p.device
	p.port.emit(hid.Event{Kind: hid.Attached, Device: &device, Plugged: p.arrived && p.plugged, At: time.Now()})
	p.arrived, p.denied, p.err = false, nil, nil
	h.working.Go(p.port.read)
}

// noteFailure notes why a device is not read. Another reason is no new failure: one that hangs and then
// fails would be tried again without end.
func (p *presence) noteFailure(err error) {
	if p.err == nil {
		p.failing = time.Now()
	}
	p.err = err
}

// reportUnread deals with a device that is not read: it is tried again a few times in silence, then
// that is said. Access to a device that was there from the start does not come by itself.
func (h *manager) reportUnread(p *presence) {
	if p.arrived || p.broken || !errors.Is(p.err, fs.ErrPermission) {
		if wait := linux.NextTry(p.failing, openRetries); wait > 0 {
			h.retry = linux.Sooner(h.retry, wait)
			if p.denied != nil { // what was said stands until then
				h.note(p.device.String(), p.denied)
			}
			return
		}
	}
	trouble := openTrouble(h.path(p), p.err)
	h.note(p.device.String(), trouble)
	if p.broken || p.denied != nil && p.denied.Equal(trouble.Condition) {
		return
	}
	p.arrived, p.denied = false, trouble
	h.log.Warn("HID device left out", "device", p.device.String(), "err", trouble)
	device := p.device
	h.handle(hid.Event{
		Kind: hid.Denied, Node: device.Node, Device: &device, Error: trouble.Error(), Reason: &trouble.Condition, At: time.Now(),
	})
}

func (h *manager) note(device string, trouble *health.Error) {
	h.notes = append(h.notes, health.Condition{
		Code: health.HIDLeftOut, Severity: health.Warning, Args: health.Args{"device": device}, Because: []health.Condition{trouble.Condition},
	})
}

// openTrouble says why the node at path is not read.
func openTrouble(path string, err error) *health.Error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		denied := health.Condition{Code: health.HIDDenied, Severity: health.Problem, Args: health.Args{"path": path}}
		return &health.Error{Condition: denied, Cause: err}
	case errors.Is(err, fs.ErrNotExist):
		return health.Wrap(err, health.HIDHidden, health.Problem, nil)
	default:
		return health.Wrap(err, health.HIDFails, health.Problem, nil)
	}
}
