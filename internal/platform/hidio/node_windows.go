package hidio

import (
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

// node is the connection to an interface with all its collections open.
type node struct {
	parts []*part
	stop  windows.Handle // an event

	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup // of the handles
}

// part is an open collection.
type part struct {
	*collection
	file    windows.Handle
	reading *transfer // nil: it has no input reports
	report  []byte
}

func openNode(of []*collection) (_ *node, err error) {
	n := new(node)
	if n.stop, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		return nil, err
	}
	for _, c := range of {
		file, err := openPath(c.path, windows.GENERIC_READ)
		if err != nil {
			return nil, errors.Join(openError(err), n.close())
		}
		p := &part{collection: c, file: file}
		n.parts = append(n.parts, p)
		if length := c.Lengths[descriptor.Input]; length > 0 {
			if p.reading, err = newTransfer(file); err != nil {
				return nil, errors.Join(err, n.close())
			}
			p.report = make([]byte, length)
			p.reading.pinned.Pin(&p.report[0])
		}
	}
	return n, nil
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

func (n *node) close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	err := windows.SetEvent(n.stop)
	n.users.Wait()
	for _, p := range n.parts {
		if p.reading != nil {
			p.reading.cancel()
			p.reading.release()
		}
		err = errors.Join(err, windows.CloseHandle(p.file))
	}
	return errors.Join(err, windows.CloseHandle(n.stop))
}

// read returns the next report of any collection.
func (n *node) read(report []byte, drained func()) (int, error) {
	if err := n.use(); err != nil {
		return 0, err
	}
	defer n.users.Done()
	events, readers := []windows.Handle{n.stop}, []*part{nil}
	for _, p := range n.parts {
		if p.reading == nil {
			continue
		}
		if !p.reading.pending {
			if err := p.startReading(); err != nil {
				return 0, err
			}
		}
		events, readers = append(events, p.reading.over.HEvent), append(readers, p)
	}
	which, err := windows.WaitForMultipleObjects(events, false, 0)
	if which == uint32(windows.WAIT_TIMEOUT) {
		drained()
		which, err = windows.WaitForMultipleObjects(events, false, windows.INFINITE)
	}
	switch {
	case err != nil:
		return 0, err
	case which == windows.WAIT_OBJECT_0:
		return 0, os.ErrClosed
	}
	p := readers[which-windows.WAIT_OBJECT_0]
	size, err := p.reading.finish()
	if err != nil {
		return 0, err
	}
	sent := p.unframe(p.report[:size])
	if len(sent) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(report, sent), nil
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
	i := slices.IndexFunc(n.parts, func(p *part) bool { return p.has(kind, number) })
	if i < 0 {
		return nil, fmt.Errorf("the device has no %s report %#02x", kind, number)
	}
	return n.parts[i], nil
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

// transfer sends a report, or the number of the one to read, and returns the result.
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
	return framed[:min(size, len(framed))], nil
}
