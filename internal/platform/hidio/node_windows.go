package hidio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// transferTimeout is how long a device may take for one transfer.
const transferTimeout = 5 * time.Second

// node is the connection to an interface. Its collections are opened one by one: a program that keeps one to itself keeps no other.
type node struct {
	stop    windows.Handle // an event
	closing sync.Once

	mu     sync.Mutex
	closed bool
	parts  []*part        // what is open, in the order of opening
	shut   []*shut        // what is not
	users  sync.WaitGroup // of the handles
}

// part is an open collection.
type part struct {
	*collection
	node    *node
	file    windows.Handle
	look    windows.Handle         // an event: the queue is to be looked at
	desc    *descriptor.Descriptor // nil: unknown
	reading *transfer              // nil: it has no input reports
	report  []byte
}

// shut is a collection that cannot be opened.
type shut struct {
	*collection
	err error
}

// openNode opens those collections that can be opened. The error is that of the first if there is none.
func openNode(of []*collection) (*node, error) {
	stop, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, err
	}
	n := &node{stop: stop}
	for _, c := range of {
		n.shut = append(n.shut, &shut{collection: c})
	}
	if err := n.openRest(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) openRest() (err error) {
	if err := n.use(); err != nil {
		return err
	}
	defer n.users.Done()
	n.mu.Lock()
	rest := n.shut
	n.mu.Unlock()
	opened := false
	for _, s := range rest {
		var p *part
		if p, s.err = n.openPart(s.collection); s.err != nil {
			err = cmp.Or(err, s.err)
			continue
		}
		opened = true
		n.mu.Lock()
		n.parts = append(n.parts, p)
		n.shut = slices.DeleteFunc(slices.Clone(n.shut), func(o *shut) bool { return o == s })
		n.mu.Unlock()
	}
	if opened {
		return nil
	}
	return err
}

func (n *node) openPart(c *collection) (_ *part, err error) {
	p := &part{collection: c, node: n, desc: hid.Describe(hid.Device{Descriptor: c.Descriptor})}
	if p.file, err = openPath(c.path, windows.GENERIC_READ); err != nil {
		return nil, openError(err)
	}
	if p.look, err = windows.CreateEvent(nil, 0, 0, nil); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(p.file))
	}
	if length := c.Lengths[descriptor.Input]; length > 0 {
		if p.reading, err = newTransfer(p.file); err != nil {
			return nil, errors.Join(err, windows.CloseHandle(p.file), windows.CloseHandle(p.look))
		}
		p.report = make([]byte, length)
		p.reading.pinned.Pin(&p.report[0])
	}
	return p, nil
}

func (n *node) open() []*part {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.parts)
}

func (n *node) channels() (channels []channel) {
	for _, p := range n.open() {
		if p.reading != nil {
			channels = append(channels, p)
		}
	}
	return channels
}

func (n *node) refused() (refused []refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.shut {
		refused = append(refused, refusal{s.instance, s.err})
	}
	return refused
}

// amend asks the device for a name that is otherwise unknown, and leaves only what is open in the descriptor.
func (n *node) amend(d hid.Device) hid.Device {
	parts := n.open()
	if d.Name == "" {
		d.Name = productString(parts[0].file)
	}
	if len(n.refused()) > 0 {
		var open []*collection
		for _, p := range parts {
			open = append(open, p.collection)
		}
		d.Descriptor = joinDescriptors(open)
	}
	return d
}

// openError distinguishes exclusive access of another program, which is Windows' only reason to deny access, from other errors.
func openError(err error) error {
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}

// use keeps the handles open until users.Done.
func (n *node) use() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return os.ErrClosed
	}
	n.users.Add(1)
	return nil
}

func (n *node) close() (err error) {
	n.closing.Do(func() {
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		err = windows.SetEvent(n.stop)
		n.users.Wait()
		for _, p := range n.parts {
			if p.reading != nil {
				p.reading.cancel()
				p.reading.release()
			}
			err = errors.Join(err, windows.CloseHandle(p.file), windows.CloseHandle(p.look))
		}
		err = errors.Join(err, windows.CloseHandle(n.stop))
	})
	return err
}

func (p *part) read(report []byte, until time.Time, empty func(time.Time)) (int, error) {
	if err := p.node.use(); err != nil {
		return 0, err
	}
	defer p.node.users.Done()
	if !p.reading.pending {
		if err := p.startReading(); err != nil {
			return 0, err
		}
	}
	events, looked := []windows.Handle{p.node.stop, p.reading.over.HEvent, p.look}, time.Now()
	which, err := windows.WaitForMultipleObjects(events, false, 0)
	if which == uint32(windows.WAIT_TIMEOUT) {
		empty(looked)
		limit := uint32(windows.INFINITE)
		if !until.IsZero() {
			limit = uint32(max(time.Until(until).Milliseconds(), 1))
		}
		which, err = windows.WaitForMultipleObjects(events, false, limit)
	}
	switch {
	case err != nil:
		return 0, err
	case which == windows.WAIT_OBJECT_0:
		return 0, os.ErrClosed
	case which == uint32(windows.WAIT_TIMEOUT), which == windows.WAIT_OBJECT_0+2:
		return 0, os.ErrDeadlineExceeded
	}
	size, err := p.reading.finish()
	if err != nil {
		return 0, err
	}
	sent := unframe(p.desc, p.report[:size])
	if len(sent) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(report, sent), nil
}

func (p *part) interrupt() {
	if p.node.use() == nil {
		_ = windows.SetEvent(p.look)
		p.node.users.Done()
	}
}

// startReading starts reading the next report. The immediate byte count is not used; it is not nil only for the race detector.
func (p *part) startReading() error {
	return p.reading.start(func(o *windows.Overlapped) error { return windows.ReadFile(p.file, p.report, new(uint32), o) })
}

// request performs a request, an output report by a handle of its own that is open only for that long.
func (n *node) request(r hid.Request) ([]byte, error) {
	if err := n.use(); err != nil {
		return nil, err
	}
	defer n.users.Done()
	if len(r.Output) > 0 {
		if err := n.write(r.Output); err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Feature) > 0:
		if len(r.Feature) > 1 {
			if _, err := n.transfer(descriptor.Feature, setFeature, "set", r.Feature); err != nil {
				return nil, err
			}
			if r.Length == 0 {
				return r.Feature, nil
			}
		}
		return n.ask(descriptor.Feature, getFeature, r.Feature[0], r.Length)
	case len(r.Input) > 0:
		return n.ask(descriptor.Input, getInputReport, r.Input[0], r.Length)
	case len(r.LastOutput) > 0:
		return nil, errors.New("read an output report back: Windows cannot do this")
	}
	return nil, nil
}

// find returns the collection that has the report.
func (n *node) find(kind descriptor.Kind, number byte) (*part, error) {
	for _, p := range n.open() {
		if p.has(kind, number) {
			return p, nil
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.shut {
		if s.has(kind, number) {
			return nil, fmt.Errorf("the collection with the %s report %#02x is not open: %w", kind, number, s.err)
		}
	}
	return nil, fmt.Errorf("the device has no %s report %#02x", kind, number)
}

func (n *node) write(report []byte) error {
	p, err := n.find(descriptor.Output, report[0])
	if err != nil {
		return err
	}
	framed, err := p.frame(descriptor.Output, report)
	if err != nil {
		return err
	}
	file, err := openPath(p.path, windows.GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(file)
	send := func(o *windows.Overlapped) error { return windows.WriteFile(file, framed, new(uint32), o) }
	_, err = perform(file, n.stop, transferTimeout, send, framed)
	if err != nil {
		return fmt.Errorf("write the output report %#02x to %s: %w", report[0], p.instance, err)
	}
	return nil
}

// ask asks the device for a report, and returns up to length bytes of it.
func (n *node) ask(kind descriptor.Kind, code uint32, number byte, length int) ([]byte, error) {
	if length < 1 {
		return nil, fmt.Errorf("a report has at least 1 byte: asked to read %d", length)
	}
	report, err := n.transfer(kind, code, "read", []byte{number})
	return report[:min(len(report), length)], err
}

// transfer sends a report, or the number of the one to read, and returns the result as the device has sent it.
func (n *node) transfer(kind descriptor.Kind, code uint32, verb string, report []byte) ([]byte, error) {
	p, err := n.find(kind, report[0])
	if err != nil {
		return nil, err
	}
	framed, err := p.frame(kind, report)
	if err != nil {
		return nil, err
	}
	out := framed
	if code == setFeature {
		out = nil
	}
	size, err := ask(p.file, n.stop, transferTimeout, code, framed, out)
	if err != nil {
		return nil, fmt.Errorf("%s the %s report %#02x of %s: %w", verb, kind, report[0], p.instance, err)
	}
	if framed[0] == 0 { // Windows does not count the place of the number where there is none
		size++
	}
	return unpad(p.desc, kind, framed[:min(size, len(framed))]), nil
}
