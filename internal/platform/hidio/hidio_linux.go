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

	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
	"sidetone/internal/signal"
)

const (
	// hidRetry is when a failed Read is tried again without an event.
	hidRetry = 30 * time.Second
	// hidPatience is how long one Read waits for devices that are being opened: the first
	// linux.Reader of a device wakes it, which takes 50 ms if all is well.
	hidPatience = time.Second
	// hidParting is how long Close waits for the kernel: closing a node waits for any request to
	// a device, of whatever process, and the kernel gives a device that does not react 5 s.
	hidParting = time.Second
)

// hidTries are the times after the first failure at which a device that cannot be read is
// tried again by itself: at the kernel's "add" udev has not yet set the node's access, and a
// device that is going is still listed for a moment.
var hidTries = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// hidSource opens hidraw nodes.
type hidSource struct {
	linux.Tree
	handle  func(hid.Event)
	open    func(path string) (*os.File, error)
	send    hidSender
	log     *slog.Logger
	changed signal.Signal
	closed  chan struct{}
	once    sync.Once
	working sync.WaitGroup // every goroutine but those of hotplug
	hotplug *linux.Hotplug // nil: nothing is watched

	mu        sync.Mutex // guards the next three, for moments only
	want      func(hid.Device) bool
	announced map[string]bool     // nodes of which the OS has said something since the last Read
	ports     map[string]*hidPort // by node

	listing   sync.Mutex // guards what a Read does; held while the callback runs
	presences map[hidID]*hidPresence
	parted    map[hidID]bool // USB interfaces that are there, but for a HID device of theirs that has gone
	listed    bool           // there has been a Read
	notes     []string       // of the last Read
	retry     time.Duration  // files.until Read is due without an event; 0 = never
}

// hidID tells one presence of a device from the next one that gets the same node. The kernel
// numbers HID devices in the order of their coming, and the number is part of the path:
// .../0003:1209:0700.0007/hidraw/hidraw3.
type hidID struct {
	path  string // below /sys, without links
	inode uint64
}

// hidPresence is a device from its coming to its going.
type hidPresence struct {
	device  hid.Device
	iface   hidID          // the USB interface that it is; zero: none
	arrived bool           // it was seen to come just now
	plugged bool           // and not only its driver
	opening chan hidOpened // not nil while the kernel opens it; gets one value
	late    *atomic.Bool   // ipc.nobody waits for the opening any more
	port    *hidPort       // not nil while it is read
	broken  bool           // its reading has failed
	err     error          // why it is not read
	failing time.Time      // since when
	denied  string         // the Error of the last event, if that was Denied
}

type hidOpened struct {
	file *os.File
	err  error
}

// New returns the HID devices. root is the folder that holds sys and dev; "" means that of
// the running system. want is asked which devices to open, with all that is known of them
// without opening them; handle gets every event (see Devices for what it may do). What cannot be
// audio.watched is said in the notes.
func New(root string, want func(hid.Device) bool, handle func(hid.Event), log *slog.Logger) (Devices, error) {
	tree, err := linux.OpenTree(root)
	if err != nil {
		return nil, fmt.Errorf("hid source: %w", err)
	}
	h := newHID(tree, want, handle, log)
	h.watch()
	return h, nil
}

func newHID(tree linux.Tree, want func(hid.Device) bool, handle func(hid.Event), log *slog.Logger) *hidSource {
	return &hidSource{
		Tree:      tree,
		handle:    handle,
		open:      openHidraw,
		send:      sendHidraw,
		log:       log,
		changed:   signal.New(),
		closed:    make(chan struct{}),
		want:      want,
		announced: make(map[string]bool),
		ports:     make(map[string]*hidPort),
		presences: make(map[hidID]*hidPresence),
		parted:    make(map[hidID]bool),
	}
}

func (h *hidSource) watch() {
	h.hotplug = linux.WatchHotplug("HID device", "hidraw", h.Dev, h.announce, h.log, h.changed.Notify)
}

var hidrawName = regexp.MustCompile(`^hidraw[0-9]+$`)

// announce notes that something has happened to a node, and is false for other files.
func (h *hidSource) announce(name string) bool {
	if !hidrawName.MatchString(name) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.announced[name] = true
	return true
}

// Name is "hid".
func (h *hidSource) Name() string { return "hid" }

// Want is explained at Devices.
func (h *hidSource) Want(want func(hid.Device) bool) {
	h.mu.Lock()
	h.want = want
	h.mu.Unlock()
	h.changed.Notify()
}

// Send is explained at Devices.
func (h *hidSource) Send(r hid.Request) {
	h.mu.Lock()
	port := h.ports[r.Node]
	h.mu.Unlock()
	if port != nil {
		port.push(r)
	}
}

// Wait returns after a hot-plug, after a change of access, when a device has failed, and when
// one that could not be opened is due again.
func (h *hidSource) Wait(ctx context.Context) error {
	h.listing.Lock()
	retry := h.retry
	h.listing.Unlock()
	_, err := h.changed.Wait(ctx, retry, h.closed)
	return err
}

// Notes names the wanted devices that are not read, and what is not watched.
func (h *hidSource) Notes() []string {
	h.listing.Lock()
	defer h.listing.Unlock()
	var notes []string
	if h.hotplug != nil {
		notes = h.hotplug.Notes()
	}
	return append(notes, h.notes...)
}

// Close ends Wait, the watching and the reading. There is no event after it. It returns an
// error if the kernel has not let go of a device in time; that then ends by itself.
func (h *hidSource) Close() error {
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
				p.port.shut()
			}
		}
		errs = append(errs, h.part())
	})
	return errors.Join(errs...)
}

// part waits until nothing works any more.
func (h *hidSource) part() error {
	idle := make(chan struct{})
	go func() {
		h.working.Wait()
		close(idle)
	}()
	timer := time.NewTimer(hidParting)
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
func (h *hidSource) Read(ctx context.Context) error {
	h.listing.Lock()
	defer h.listing.Unlock()
	if h.isClosed() {
		return os.ErrClosed
	}
	h.notes, h.retry = nil, 0
	want, announced := h.take()
	present, err := h.scan()
	if err != nil {
		h.retry = hidRetry
		return fmt.Errorf("list HID devices: %w", err)
	}
	var wanted []*hidPresence
	for _, p := range present {
		h.review(p, announced[p.device.Node])
		if !want(p.device) {
			h.release(p)
			continue
		}
		wanted = append(wanted, p)
		h.ask(p)
	}
	ctx, cancel := context.WithTimeout(ctx, hidPatience)
	defer cancel()
	for _, p := range wanted {
		h.await(ctx, p)
	}
	return nil
}

func (h *hidSource) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// take returns what the next Read is to go by.
func (h *hidSource) take() (want func(hid.Device) bool, announced map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	announced, h.announced = h.announced, make(map[string]bool)
	return h.want, announced
}

// scan returns the devices that sysfs lists, in the order of their nodes' numbers, after it
// has let go of those that it does not list any more.
func (h *hidSource) scan() ([]*hidPresence, error) {
	entries, err := h.Class("hidraw")
	if err != nil {
		return nil, err
	}
	found := make(map[hidID]*hidPresence)
	var present []*hidPresence
	for _, entry := range entries {
		name := filepath.Base(entry)
		id, ok := identifyHID(entry)
		if !hidrawName.MatchString(name) || !ok { // an entry that leads nowhere is just going
			continue
		}
		p := h.presences[id]
		if p == nil {
			device, err := describeHID(id.path)
			if err != nil {
				if linux.Exists(id.path) {
					h.notes = append(h.notes, fmt.Sprintf("%s is left out: %v", name, err))
				}
				continue
			}
			p = &hidPresence{device: device, arrived: h.listed, plugged: justConnected(device.Bus, id.path)}
			if dir := usbInterfaceDir(id.path); dir != "" {
				p.iface, _ = identifyHID(dir)
				p.plugged = p.plugged && !h.parted[p.iface]
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
func (h *hidSource) leave(p *hidPresence) {
	h.parted[p.iface] = true
	for id := range h.parted {
		if now, _ := identifyHID(id.path); now != id {
			delete(h.parted, id)
		}
	}
}

// review looks whether a device has failed since the last Read. One whose reading has failed is
// mostly one that is going: it is opened again only after the OS has said something of it.
func (h *hidSource) review(p *hidPresence, announced bool) {
	if p.port != nil && p.port.isDone() {
		p.broken = true
		p.fails(p.port.err)
		h.forget(p)
	}
	if announced && p.broken {
		p.broken, p.err = false, nil
	}
}

// forget takes a port out of use.
func (h *hidSource) forget(p *hidPresence) {
	h.mu.Lock()
	delete(h.ports, p.device.Node)
	h.mu.Unlock()
	p.port = nil
}

// release ends what is done with a device, and says so.
func (h *hidSource) release(p *hidPresence) {
	h.abandon(p)
	gone := hid.Event{Happening: hid.Gone, Node: p.device.Node, At: time.Now()}
	if p.port != nil {
		p.port.emit(gone)
		p.port.shut()
		h.forget(p)
	} else if p.denied != "" {
		h.handle(gone)
	}
	*p = hidPresence{device: p.device, iface: p.iface, broken: p.broken, err: p.err, failing: p.failing}
}

// ask begins to open a device that is not open.
func (h *hidSource) ask(p *hidPresence) {
	if p.port != nil || p.opening != nil || p.broken {
		return
	}
	opened, late, path := make(chan hidOpened, 1), new(atomic.Bool), h.path(p)
	p.opening, p.late = opened, late
	h.working.Go(func() {
		file, err := h.open(path)
		opened <- hidOpened{file, err}
		if late.Load() {
			h.changed.Notify()
		}
	})
}

func (h *hidSource) path(p *hidPresence) string { return filepath.Join(h.Dev, p.device.Node) }

// abandon closes what is being opened as soon as it is open.
func (h *hidSource) abandon(p *hidPresence) {
	if opened := p.opening; opened != nil {
		p.opening = nil
		h.working.Go(func() {
			if o := <-opened; o.file != nil {
				_ = o.file.Close()
			}
		})
	}
}

// await deals with the outcome of an opening; one that is not there when ctx ends is left to a
// later Read.
func (h *hidSource) await(ctx context.Context, p *hidPresence) {
	if p.opening != nil && !p.late.Load() {
		select {
		case o := <-p.opening:
			h.opened(p, o)
		case <-ctx.Done():
			p.late.Store(true) // from now on it rings
		case <-h.closed:
			return
		}
	}
	if p.opening != nil {
		select { // the time went to another device; this one may have been opened long ago
		case o := <-p.opening:
			h.opened(p, o)
		default:
			p.fails(linux.ErrNoAnswer)
		}
	}
	if p.port == nil {
		h.leaveOut(p)
	}
}

func (h *hidSource) opened(p *hidPresence, o hidOpened) {
	p.opening = nil
	if o.err == nil {
		p.port, o.err = newHidPort(h, p.device.Node, o.file)
	}
	if o.err != nil {
		p.fails(o.err)
		return
	}
	h.mu.Lock()
	h.ports[p.device.Node] = p.port // before the event, which may bring requests
	h.mu.Unlock()
	device := p.device
	p.port.emit(hid.Event{Happening: hid.Attached, Device: &device, Plugged: p.arrived && p.plugged, At: time.Now()})
	p.arrived, p.denied, p.err = false, "", nil
	h.working.Go(p.port.read)
}

// fails notes why a device is not read. Another reason is no new failure: one that hangs and then
// fails would be tried again without end.
func (p *hidPresence) fails(err error) {
	if p.err == nil {
		p.failing = time.Now()
	}
	p.err = err
}

// leaveOut deals with a device that is not read: it is tried again a few times in silence, then
// that is said. Access to a device that was there from the start does not come by itself.
func (h *hidSource) leaveOut(p *hidPresence) {
	if p.arrived || p.broken || !errors.Is(p.err, fs.ErrPermission) {
		if wait := linux.NextTry(p.failing, hidTries); wait > 0 {
			h.retry = linux.Sooner(h.retry, wait)
			if p.denied != "" { // what was said stands until then
				h.note(p, p.denied)
			}
			return
		}
	}
	trouble := hidTrouble(h.path(p), p.err)
	h.note(p, trouble)
	if p.broken || p.denied == trouble {
		return
	}
	p.arrived, p.denied = false, trouble
	h.log.Warn("HID device left out", "device", p.device.String(), "err", trouble)
	device := p.device
	h.handle(hid.Event{Happening: hid.Denied, Node: device.Node, Device: &device, Error: trouble, At: time.Now()})
}

func (h *hidSource) note(p *hidPresence, trouble string) {
	h.notes = append(h.notes, fmt.Sprintf("%s is left out: %s", p.device, trouble))
}

// hidTrouble says why the node at path is not read, and what to do.
func hidTrouble(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read " + path + PermissionRemedy
	case errors.Is(err, fs.ErrNotExist):
		return err.Error() + "; the node is hidden from this process, as a container does, or was never made"
	default:
		return err.Error() + "; unplug the device and plug it in again"
	}
}
