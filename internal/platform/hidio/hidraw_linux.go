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
	hidDescriptorMax = 4096      // HID_MAX_DESCRIPTOR_SIZE
	hidReportMax     = 16 << 10  // HID_MAX_BUFFER_SIZE; less on older kernels
	hidReadMax       = 1<<13 - 1 // what an ioctl number can say on every port
	hidBacklog       = 63        // reports that wait for one reader, of a ring of HIDRAW_BUFFER_SIZE
)

const (
	// hidQueue is how many requests may wait for a device.
	hidQueue = 32
	// hidDeadline ends the waiting for a request. The kernel gives each transfer 5 s, and one
	// request may need two.
	hidDeadline = 12 * time.Second
)

// identifyHID tells which presence the sysfs entry at path is of; false when it is just going.
func identifyHID(path string) (hidID, bool) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return hidID{}, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return hidID{}, false
	}
	return hidID{path, linux.Inode(info)}, true
}

// describeHID reads what the kernel knows of the device of a hidraw node, whose sysfs entry is at path.
func describeHID(path string) (hid.Device, error) {
	dir := filepath.Join(path, "device")
	text, err := os.ReadFile(filepath.Join(dir, "uevent"))
	if err != nil {
		return hid.Device{}, fmt.Errorf("what it is cannot be read: %w", err)
	}
	u, err := parseHIDUevent(string(text))
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

// hidArrival is how long after it was connected the HID interfaces of a USB device may come: until it is
// let in, its drivers are loaded, and a slow machine has got round to it.
const hidArrival = 30 * time.Second

// justConnected is false where the kernel says that the USB device of the sysfs entry at path has been connected
// for longer than its interfaces take to come: then only its driver is new, as after a program has had the
// interface to itself.
func justConnected(bus devices.Bus, path string) bool {
	usb, ok := linux.USBParent(path)
	if bus != devices.USB || !ok {
		return true
	}
	root, _, _ := linux.SplitSysfs(path)
	ms, err := strconv.ParseInt(linux.Attribute(filepath.Join(root, strings.TrimPrefix(usb.Container, "usb:")), "power/connected_duration"), 10, 64)
	return err != nil || time.Duration(ms)*time.Millisecond < hidArrival
}

// readDescriptor returns nil for what cannot be read or is no report descriptor for its length.
func readDescriptor(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, hidDescriptorMax+1))
	if err != nil || len(b) > hidDescriptorMax {
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

// hidUevent is what the kernel says of a HID device.
type hidUevent struct {
	bus      devices.Bus
	vid, pid string // 4 lower-case hex digits
	name     string
	unique   string // serial number, address, or empty
}

// parseHIDUevent reads lines of KEY=VALUE. Of a key that is there twice the first counts: the
// kernel writes the identity before the texts, which come from the device.
func parseHIDUevent(text string) (hidUevent, error) {
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
			return hidUevent{hidBus(bus), vid, pid, values["HID_NAME"], values["HID_UNIQ"]}, nil
		}
	}
	return hidUevent{}, fmt.Errorf("its HID_ID %q is not bus:vendor:product", values["HID_ID"])
}

// hidBus reads a BUS_ number of linux/input.h.
func hidBus(number string) devices.Bus {
	switch number {
	case "0003":
		return devices.USB
	case "0005":
		return devices.Bluetooth
	default:
		return ""
	}
}

// openHidraw opens a node for reading, beside other readers.
func openHidraw(path string) (*os.File, error) {
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

// A hidSender does a request with the device at path, which fd keeps open, and returns the
// report, if one is to be read. It may hang.
type hidSender func(fd int, path string, r hid.Request) ([]byte, error)

// sendHidraw does a request. The node is opened for writing only for as long as that takes.
// While fd is open the kernel gives the node's number to no other device.
func sendHidraw(fd int, path string, r hid.Request) ([]byte, error) {
	if len(r.Output) > 0 {
		if err := writeHidraw(path, r.Output); err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Feature) > 0:
		return featureHidraw(fd, path, r.Feature, r.Length)
	case len(r.Input) > 0:
		return readHidraw(fd, path, hidGetInput, r.Input[0], r.Length)
	case len(r.LastOutput) > 0:
		return readHidraw(fd, path, hidGetOutput, r.LastOutput[0], r.Length)
	}
	return nil, nil
}

func writeHidraw(path string, report []byte) error {
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

// featureHidraw sets a feature report, if there is more of it than its number, and reads it, unless length is 0.
func featureHidraw(fd int, path string, feature []byte, length int) ([]byte, error) {
	if len(feature) > hidReadMax {
		return nil, fmt.Errorf("a feature report has 1 to %d bytes: asked to set %d", hidReadMax, len(feature))
	}
	if len(feature) > 1 {
		if _, err := hidIoctl(fd, hidSetFeature, bytes.Clone(feature)); err != nil {
			return nil, fmt.Errorf("set the feature report %#02x of %s: %w", feature[0], path, err)
		}
		if length == 0 {
			return feature, nil
		}
	}
	return readHidraw(fd, path, hidGetFeature, feature[0], length)
}

// readHidraw has the device tell a report.
func readHidraw(fd int, path string, read hidRead, number byte, length int) ([]byte, error) {
	if length < 1 || length > hidReadMax {
		return nil, fmt.Errorf("a report has 1 to %d bytes: asked to read %d", hidReadMax, length)
	}
	report := make([]byte, length)
	report[0] = number
	n, err := hidIoctl(fd, read.ioctl, report)
	switch {
	case errors.Is(err, unix.ENOTTY) && read != hidGetFeature:
		return nil, fmt.Errorf("read the %s report %#02x of %s: Linux can do this from version 5.11 on: %w", read.name, number, path, err)
	case err != nil:
		return nil, fmt.Errorf("read the %s report %#02x of %s: %w", read.name, number, path, err)
	}
	return report[:min(n, length)], nil
}

// hidSetFeature is the number of the ioctl HIDIOCSFEATURE.
const hidSetFeature = 6

// hidRead is an ioctl that has the device tell a report: it both writes and reads what it is given.
type hidRead struct {
	ioctl uintptr
	name  string // of the kind of report
}

var (
	hidGetFeature = hidRead{0x07, "feature"} // HIDIOCGFEATURE
	hidGetInput   = hidRead{0x0a, "input"}   // HIDIOCGINPUT
	hidGetOutput  = hidRead{0x0c, "output"}  // HIDIOCGOUTPUT
)

// hidIoctl makes an ioctl on a report and returns the length that the kernel says. The two
// direction bits together are the same on every port of Linux.
func hidIoctl(fd int, number uintptr, report []byte) (int, error) {
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

// hidPort is a device that is open. It has one goroutine that reads, and another one while
// there are requests.
type hidPort struct {
	node   string
	file   *os.File
	conn   syscall.RawConn
	source *hidSource
	ctx    context.Context // ends with the port
	cancel context.CancelFunc
	once   sync.Once

	row  int           // reports read since there was none; of the reading goroutine
	done chan struct{} // closed when the reading has ended by itself
	err  error         // why; to be read after done is closed

	emitting sync.Mutex
	over     bool // there are no more events

	calls  platform.CallGuard
	logged string // the last failure of a request that was logged; of the sending goroutine

	queueing sync.Mutex
	queue    []hidJob
	sending  bool // somebody takes from queue
}

// hidJob is a request that waits, or that is to be refused when its turn comes.
type hidJob struct {
	hid.Request
	refused bool
}

func newHidPort(h *hidSource, node string, file *os.File) (*hidPort, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	p := &hidPort{node: node, file: file, conn: conn, source: h, done: make(chan struct{}), calls: platform.NewCallGuard()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// emit hands on an event, after all earlier ones. Gone is the last one.
func (p *hidPort) emit(e hid.Event) {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	if p.over {
		return
	}
	p.over = e.Happening == hid.Gone
	e.Node = p.node
	p.source.handle(e)
}

// silence lets no event out any more; the callback does not run when it returns.
func (p *hidPort) silence() {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	p.over = true
}

// shut ends the reading and the sending. It does not wait for the kernel: closing a node does.
func (p *hidPort) shut() {
	p.once.Do(func() {
		p.queueing.Lock()
		p.cancel()
		p.queue = nil
		p.queueing.Unlock()
		p.source.working.Go(func() { _ = p.file.Close() })
	})
}

func (p *hidPort) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// platform.read hands on what the device sends until that fails.
func (p *hidPort) read() {
	report := make([]byte, hidReportMax)
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
		p.emit(hid.Event{Happening: hid.Report, Data: bytes.Clone(report[:n]), At: at})
		p.row++
		if p.row%hidBacklog == 0 {
			p.emit(hid.Event{Happening: hid.Lost, At: time.Now()})
		}
	}
}

// next waits for a report.
func (p *hidPort) next(report []byte) (n int, err error) {
	waitErr := p.conn.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), report)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				p.drained()
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

// drained notes that no report waits. The kernel keeps hidBacklog reports for a reader and
// silently drops what comes while it has that many. It does not tell, but then these at least
// are read in a row before there is none: so after each hidBacklog reports of a row (what was
// dropped came later than those that were then waiting), and at the end of a row that
// was longer, reports may have been lost.
func (p *hidPort) drained() {
	if p.row > hidBacklog && p.row%hidBacklog != 0 {
		p.emit(hid.Event{Happening: hid.Lost, At: time.Now()})
	}
	p.row = 0
}

// fail says that the device is gone. EIO is how the kernel says that it was unplugged.
func (p *hidPort) fail(err error, at time.Time) {
	gone := hid.Event{Happening: hid.Gone, At: at}
	if !errors.Is(err, unix.EIO) && !errors.Is(err, unix.ENODEV) {
		gone.Error = fmt.Sprintf("read %s: %v", p.file.Name(), err)
	}
	p.emit(gone)
	p.shut()
	p.err = fmt.Errorf("read %s: %w", p.file.Name(), err)
	close(p.done)
	p.source.changed.Notify()
}

// push queues a request. Those that find no room are refused in their turn, as many again; the
// rest is dropped.
func (p *hidPort) push(r hid.Request) {
	p.queueing.Lock()
	defer p.queueing.Unlock()
	waiting := len(p.queue)
	if p.ctx.Err() != nil || waiting >= 2*hidQueue {
		return
	}
	p.queue = append(p.queue, hidJob{r, waiting >= hidQueue})
	if !p.sending {
		p.sending = true
		p.source.working.Go(p.drain)
	}
}

// drain does what is queued, then ends.
func (p *hidPort) drain() {
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
func (p *hidPort) do(job hidJob) {
	report, err := p.try(job)
	if p.ctx.Err() != nil {
		return
	}
	e := hid.Event{Happening: hid.Answer, Request: job.ID, Data: report, At: time.Now()}
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

var errHIDQueue = fmt.Errorf("%d requests were already waiting for the device", hidQueue)

func (p *hidPort) try(job hidJob) ([]byte, error) {
	if job.refused {
		return nil, errHIDQueue
	}
	ctx, cancel := context.WithTimeout(p.ctx, hidDeadline)
	defer cancel()
	return platform.CallWithContext(ctx, p.calls, func() ([]byte, error) { return p.call(job.Request) })
}

// call does a request. The file is not closed before that has returned.
func (p *hidPort) call(r hid.Request) (report []byte, err error) {
	if gone := p.conn.Control(func(fd uintptr) { report, err = p.source.send(int(fd), p.file.Name(), r) }); gone != nil {
		return nil, fmt.Errorf("send to %s: %w", p.file.Name(), gone)
	}
	return report, err
}
