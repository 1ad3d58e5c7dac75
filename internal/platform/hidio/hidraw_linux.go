package hidio

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
)

// Limits of the kernel.
const (
	maxDescriptor = 4096      // HID_MAX_DESCRIPTOR_SIZE
	maxReport     = 16 << 10  // HID_MAX_BUFFER_SIZE; less on older kernels
	maxIoctlSize  = 1<<13 - 1 // what an ioctl number can say on every port
	kernelBacklog = 63        // reports that wait for one reader, of a ring of HIDRAW_BUFFER_SIZE
)

const (
	// maxQueued is how many requests may wait for a device.
	maxQueued = 32
	// requestTimeout ends the waiting for a request. The kernel gives each transfer 5 s, and one
	// request may need two.
	requestTimeout = 12 * time.Second
)

// identify tells which presence the sysfs entry at path is of; false when it is just going.
func identify(path string) (presenceID, bool) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return presenceID{}, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return presenceID{}, false
	}
	return presenceID{path, linux.Inode(info)}, true
}

// describe reads what the kernel knows of the device of a hidraw node, whose sysfs entry is at path.
func describe(path string) (hid.Device, error) {
	dir := filepath.Join(path, "device")
	text, err := os.ReadFile(filepath.Join(dir, "uevent"))
	if err != nil {
		return hid.Device{}, fmt.Errorf("what it is cannot be read: %w", err)
	}
	u, err := parseUevent(string(text))
	if err != nil {
		return hid.Device{}, err
	}
	d := hid.Device{
		Node: filepath.Base(path), Bus: u.bus, VID: u.vid, PID: u.pid, Serial: u.unique, Interface: -1, Name: u.name,
		Descriptor: readDescriptor(filepath.Join(dir, "report_descriptor")),
	}
	switch u.bus {
	case devices.USB:
		if usb, ok := linux.USBParent(path); ok {
			d.Serial, d.Container, d.Interface = cmp.Or(usb.Serial, u.unique), usb.Container, usbInterface(path)
		}
	case devices.Bluetooth: // whose USB parent would be the adapter
		if u.unique != "" {
			d.Container = "bluetooth:" + strings.ToLower(u.unique)
		}
	}
	return d, nil
}

// arrivalTime is how long after it was connected the HID interfaces of a USB device may come: until it is
// let in, its drivers are loaded, and a slow machine has got round to it.
const arrivalTime = 30 * time.Second

// justConnected is false where the kernel says that the USB device of the sysfs entry at path has been connected
// for longer than its interfaces take to come: then only its driver is new, as after a program has had the
// interface to itself.
func justConnected(bus devices.Bus, path string) bool {
	usb, ok := linux.USBParent(path)
	if bus != devices.USB || !ok {
		return true
	}
	root, _, _ := linux.SplitSysfs(path)
	dir := filepath.Join(root, strings.TrimPrefix(usb.Container, "usb:"))
	ms, err := strconv.ParseInt(linux.Attribute(dir, "power/connected_duration"), 10, 64)
	return err != nil || time.Duration(ms)*time.Millisecond < arrivalTime
}

// readDescriptor returns nil for what cannot be read or is no report descriptor for its length.
func readDescriptor(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxDescriptor+1))
	if err != nil || len(b) > maxDescriptor {
		return nil
	}
	return b
}

// usbInterface is the number of the USB interface that the sysfs entry at path is part of; -1
// when there is none.
func usbInterface(path string) int {
	if n, err := strconv.ParseUint(linux.Attribute(usbInterfaceDir(path), "bInterfaceNumber"), 16, 8); err == nil {
		return int(n)
	}
	return -1
}

// usbInterfaceDir is the folder of that interface, which is there as long as the device is connected; "" when there is none.
func usbInterfaceDir(path string) string {
	devices, rel, ok := linux.SplitSysfs(path)
	if !ok {
		return ""
	}
	for ; rel != "."; rel = filepath.Dir(rel) {
		if dir := filepath.Join(devices, rel); linux.Attribute(dir, "bInterfaceNumber") != "" {
			return dir
		}
	}
	return ""
}

// uevent is what the kernel says of a HID device.
type uevent struct {
	bus      devices.Bus
	vid, pid string // 4 lower-case hex digits
	name     string
	unique   string // serial number, address, or empty
}

// parseUevent reads lines of KEY=VALUE. Of a key that is there twice the first counts: the
// kernel writes the identity before the texts, which come from the device.
func parseUevent(text string) (uevent, error) {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if _, twice := values[key]; !twice {
			values[key] = strings.TrimSpace(strings.ToValidUTF8(value, ""))
		}
	}
	ids := strings.Split(values["HID_ID"], ":")
	if len(ids) == 3 {
		bus, vid, pid := linux.HexID(ids[0]), linux.HexID(ids[1]), linux.HexID(ids[2])
		if bus != "" && vid != "" && pid != "" {
			return uevent{busOf(bus), vid, pid, values["HID_NAME"], values["HID_UNIQ"]}, nil
		}
	}
	return uevent{}, fmt.Errorf("its HID_ID %q is not bus:vendor:product", values["HID_ID"])
}

// busOf reads a BUS_ number of linux/input.h.
func busOf(number string) devices.Bus {
	switch number {
	case "0003":
		return devices.USB
	case "0005":
		return devices.Bluetooth
	default:
		return ""
	}
}

// openNode opens a node for reading, beside other readers.
func openNode(path string) (*os.File, error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return fd, nil
		case !errors.Is(err, unix.EINTR):
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// A sender does a request with the device at path, which fd keeps open, and returns the
// report, if one is to be read. It may hang.
type sender func(fd int, path string, r hid.Request) ([]byte, error)

// sendRequest does a request. The node is opened for writing only for as long as that takes.
// While fd is open the kernel gives the node's number to no other device.
func sendRequest(fd int, path string, r hid.Request) ([]byte, error) {
	if len(r.Output) > 0 {
		if err := writeOutput(path, r.Output); err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Feature) > 0:
		return setFeature(fd, path, r.Feature, r.Length)
	case len(r.Input) > 0:
		return readReport(fd, path, getInput, r.Input[0], r.Length)
	case len(r.LastOutput) > 0:
		return readReport(fd, path, getOutput, r.LastOutput[0], r.Length)
	}
	return nil, nil
}

func writeOutput(path string, report []byte) error {
	fd, err := openRetry(path, unix.O_WRONLY)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("no permission to write %s: this device's rule needs a udev rule that lets this user write", path)
	} else if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Write(fd, report)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("write the output report %#02x to %s: %w", report[0], path, err)
		case n < len(report):
			return fmt.Errorf("write the output report %#02x to %s: it took %d of %d bytes", report[0], path, n, len(report))
		}
		return nil
	}
}

// setFeature sets a feature report, if there is more of it than its number, and reads it, unless length is 0.
func setFeature(fd int, path string, feature []byte, length int) ([]byte, error) {
	if len(feature) > maxIoctlSize {
		return nil, fmt.Errorf("a feature report has 1 to %d bytes: asked to set %d", maxIoctlSize, len(feature))
	}
	if len(feature) > 1 {
		if _, err := reportIoctl(fd, ioctlSetFeature, bytes.Clone(feature)); err != nil {
			return nil, fmt.Errorf("set the feature report %#02x of %s: %w", feature[0], path, err)
		}
		if length == 0 {
			return feature, nil
		}
	}
	return readReport(fd, path, getFeature, feature[0], length)
}

// readReport has the device tell a report.
func readReport(fd int, path string, read readIoctl, number byte, length int) ([]byte, error) {
	if length < 1 || length > maxIoctlSize {
		return nil, fmt.Errorf("a report has 1 to %d bytes: asked to read %d", maxIoctlSize, length)
	}
	report := make([]byte, length)
	report[0] = number
	n, err := reportIoctl(fd, read.ioctl, report)
	switch {
	case errors.Is(err, unix.ENOTTY) && read != getFeature:
		return nil, fmt.Errorf("read the %s report %#02x of %s: Linux can do this from version 5.11 on: %w", read.name, number, path, err)
	case err != nil:
		return nil, fmt.Errorf("read the %s report %#02x of %s: %w", read.name, number, path, err)
	}
	return report[:min(n, length)], nil
}

// ioctlSetFeature is the number of the ioctl HIDIOCSFEATURE.
const ioctlSetFeature = 6

// readIoctl is an ioctl that has the device tell a report: it both writes and reads what it is given.
type readIoctl struct {
	ioctl uintptr
	name  string // of the kind of report
}

var (
	getFeature = readIoctl{0x07, "feature"} // HIDIOCGFEATURE
	getInput   = readIoctl{0x0a, "input"}   // HIDIOCGINPUT
	getOutput  = readIoctl{0x0c, "output"}  // HIDIOCGOUTPUT
)

// reportIoctl makes an ioctl on a report and returns the length that the kernel says. The two
// direction bits together are the same on every port of Linux.
func reportIoctl(fd int, number uintptr, report []byte) (int, error) {
	request := linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', number, uintptr(len(report)))
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(unsafe.SliceData(report))))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// port is a device that is open. It has one goroutine that reads, and another one while
// there are requests.
type port struct {
	node   string
	file   *os.File
	conn   syscall.RawConn
	source *manager
	ctx    context.Context // ends with the port
	cancel context.CancelFunc
	once   sync.Once

	burst int           // reports read since there was none; of the reading goroutine
	done  chan struct{} // closed when the reading has ended by itself
	err   error         // why; to be read after done is closed

	emitting sync.Mutex
	over     bool // there are no more events

	calls  platform.CallGuard
	logged string // the last failure of a request that was logged; of the sending goroutine

	queueing sync.Mutex
	queue    []job
	sending  bool // somebody takes from queue
}

// job is a request that waits, or that is to be refused when its turn comes.
type job struct {
	hid.Request
	refused bool
}

func newPort(h *manager, node string, file *os.File) (*port, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	p := &port{node: node, file: file, conn: conn, source: h, done: make(chan struct{}), calls: platform.NewCallGuard()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// emit hands on an event, after all earlier ones. Gone is the last one.
func (p *port) emit(e hid.Event) {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	if p.over {
		return
	}
	p.over = e.Kind == hid.Gone
	e.Node = p.node
	p.source.handle(e)
}

// silence lets no event out any more; the callback does not run when it returns.
func (p *port) silence() {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	p.over = true
}

// close ends the reading and the sending. It does not wait for the kernel: closing a node does.
func (p *port) close() {
	p.once.Do(func() {
		p.queueing.Lock()
		p.cancel()
		p.queue = nil
		p.queueing.Unlock()
		p.source.working.Go(func() { _ = p.file.Close() })
	})
}

func (p *port) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// read hands on what the device sends until that fails.
func (p *port) read() {
	report := make([]byte, maxReport)
	for {
		n, err := p.next(report)
		at := time.Now()
		if p.ctx.Err() != nil {
			return
		}
		if err != nil {
			p.fail(err, at)
			return
		}
		p.emit(hid.Event{Kind: hid.Report, Data: bytes.Clone(report[:n]), At: at})
		p.burst++
		if p.burst%kernelBacklog == 0 {
			p.emit(hid.Event{Kind: hid.Lost, At: time.Now()})
		}
	}
}

// next waits for a report.
func (p *port) next(report []byte) (n int, err error) {
	waitErr := p.conn.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), report)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				p.noteDrained()
				return false
			default:
				return true
			}
		}
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err != nil:
		return 0, err
	case n == 0: // no report is empty
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// noteDrained notes that no report waits. The kernel keeps kernelBacklog reports for a reader and
// silently drops what comes while it has that many. It does not tell, but then these at least
// are read in a row before there is none: so after each kernelBacklog reports of a row (what was
// dropped came later than those that were then waiting), and at the end of a row that
// was longer, reports may have been lost.
func (p *port) noteDrained() {
	if p.burst > kernelBacklog && p.burst%kernelBacklog != 0 {
		p.emit(hid.Event{Kind: hid.Lost, At: time.Now()})
	}
	p.burst = 0
}

// fail says that the device is gone. EIO is how the kernel says that it was unplugged.
func (p *port) fail(err error, at time.Time) {
	gone := hid.Event{Kind: hid.Gone, At: at}
	if !errors.Is(err, unix.EIO) && !errors.Is(err, unix.ENODEV) {
		gone.Error = fmt.Sprintf("read %s: %v", p.file.Name(), err)
	}
	p.emit(gone)
	p.close()
	p.err = fmt.Errorf("read %s: %w", p.file.Name(), err)
	close(p.done)
	p.source.changed.Notify()
}

// enqueue queues a request. Those that find no room are refused in their turn, as many again; the
// rest is dropped.
func (p *port) enqueue(r hid.Request) {
	p.queueing.Lock()
	defer p.queueing.Unlock()
	waiting := len(p.queue)
	if p.ctx.Err() != nil || waiting >= 2*maxQueued {
		return
	}
	p.queue = append(p.queue, job{r, waiting >= maxQueued})
	if !p.sending {
		p.sending = true
		p.source.working.Go(p.sendQueued)
	}
}

// sendQueued does what is queued, then ends.
func (p *port) sendQueued() {
	for {
		p.queueing.Lock()
		if len(p.queue) == 0 {
			p.sending = false
			p.queueing.Unlock()
			return
		}
		job := p.queue[0]
		p.queue = p.queue[1:]
		p.queueing.Unlock()
		p.do(job)
	}
}

// do sees to one request. An output report that has been written has no Answer.
func (p *port) do(job job) {
	report, err := p.performGuarded(job)
	if p.ctx.Err() != nil {
		return
	}
	e := hid.Event{Kind: hid.Answer, Request: job.ID, Data: report, At: time.Now()}
	switch {
	case err != nil:
		e.Error = err.Error()
	case len(job.Feature) == 0 && len(job.Input) == 0 && len(job.LastOutput) == 0:
		return
	}
	if e.Error != "" && e.Error != p.logged {
		p.logged = e.Error
		p.source.log.Warn("HID device was not sent what a rule wants", "node", p.node, "err", err)
	}
	p.emit(e)
}

var errQueueFull = fmt.Errorf("%d requests were already waiting for the device", maxQueued)

func (p *port) performGuarded(job job) ([]byte, error) {
	if job.refused {
		return nil, errQueueFull
	}
	ctx, cancel := context.WithTimeout(p.ctx, requestTimeout)
	defer cancel()
	return platform.CallWithContext(ctx, p.calls, func() ([]byte, error) { return p.call(job.Request) })
}

// call does a request. The file is not closed before that has returned.
func (p *port) call(r hid.Request) (report []byte, err error) {
	if gone := p.conn.Control(func(fd uintptr) { report, err = p.source.send(int(fd), p.file.Name(), r) }); gone != nil {
		return nil, fmt.Errorf("send to %s: %w", p.file.Name(), gone)
	}
	return report, err
}
