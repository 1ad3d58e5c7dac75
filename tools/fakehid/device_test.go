//go:build linux

package fakehid

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const patience = 20 * time.Second

// fakeKernel is the other end of a device's file: a socket that keeps messages apart, as /dev/uhid does.
type fakeKernel struct {
	t *testing.T
	*os.File
}

func newKernel(t *testing.T) (kernel fakeKernel, device *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	kernel = fakeKernel{t, os.NewFile(uintptr(fds[0]), "kernel")}
	t.Cleanup(func() { kernel.Close() })
	require.NoError(t, kernel.SetDeadline(time.Now().Add(patience)))
	return kernel, os.NewFile(uintptr(fds[1]), "uhid")
}

// receive is the next event that the device writes.
func (k fakeKernel) receive() (kind uint32, body []byte) {
	k.t.Helper()
	event := make([]byte, eventSize)
	n, err := k.Read(event)
	require.NoError(k.t, err)
	require.GreaterOrEqual(k.t, n, typeSize)
	return binary.NativeEndian.Uint32(event), event[typeSize:n]
}

// send writes an event as large as the kernel does.
func (k fakeKernel) send(kind uint32, fields ...any) {
	k.t.Helper()
	event := make([]byte, eventSize)
	copy(event, encode(append([]any{kind}, fields...)...))
	_, err := k.Write(event)
	require.NoError(k.t, err)
}

var telephony = Options{
	Bus: Bluetooth, Vendor: 0x1209, Product: 0x0701, Name: "Acme Headset", Phys: "here", Uniq: "A1",
	Descriptor: []byte{0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0xc0},
}

// start creates a device in a kernel that has let a driver take it. The event that made it is taken already.
func start(t *testing.T, o Options) (*Device, fakeKernel) {
	t.Helper()
	kernel, file := newKernel(t)
	kernel.send(eventStart, uint64(0))
	d, err := create(file, o, patience)
	require.NoError(t, err)
	t.Cleanup(func() { d.Destroy() })
	kind, _ := kernel.receive()
	require.EqualValues(t, eventCreate, kind)
	return d, kernel
}

func TestCreateSaysWhatTheDeviceIs(t *testing.T) {
	kernel, file := newKernel(t)
	kernel.send(eventStart, uint64(0))
	d, err := create(file, telephony, patience)
	require.NoError(t, err)
	defer d.Destroy()

	_, body := kernel.receive()
	text := func(from, to int) string { return strings.TrimRight(string(body[from:to]), "\x00") }
	ne := binary.NativeEndian
	require.Equal(t, "Acme Headset", text(0, 128))
	require.Equal(t, "here", text(128, 192))
	require.Equal(t, "A1", text(192, 256))
	require.EqualValues(t, len(telephony.Descriptor), ne.Uint16(body[256:]))
	require.EqualValues(t, 5, ne.Uint16(body[258:]))
	require.EqualValues(t, 0x1209, ne.Uint32(body[260:]))
	require.EqualValues(t, 0x0701, ne.Uint32(body[264:]))
	require.Equal(t, make([]byte, 8), body[268:276], "version and country")
	require.Equal(t, telephony.Descriptor, body[276:])
}

func TestCreateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"long name":       {func(o *Options) { o.Name = strings.Repeat("n", 128) }, "128 bytes, and there is room for 127"},
		"long phys":       {func(o *Options) { o.Phys = strings.Repeat("p", 64) }, "its phys"},
		"long uniq":       {func(o *Options) { o.Uniq = strings.Repeat("u", 64) }, "its uniq"},
		"no descriptor":   {func(o *Options) { o.Descriptor = nil }, "0 bytes"},
		"long descriptor": {func(o *Options) { o.Descriptor = make([]byte, 4097) }, "4097 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			o := telephony
			c.change(&o)
			_, file := newKernel(t)
			_, err := create(file, o, patience)
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, file.Close(), os.ErrClosed, "the file is left open")
		})
	}
}

func TestCreateFailsWithoutADriver(t *testing.T) {
	_, file := newKernel(t)
	_, err := create(file, telephony, time.Millisecond)
	require.ErrorContains(t, err, "no driver has taken it")
}

func TestCreateFailsWithTheKernel(t *testing.T) {
	kernel, file := newKernel(t)
	kernel.Close()
	_, err := create(file, telephony, patience)
	require.ErrorIs(t, err, unix.EPIPE)
}

func TestSend(t *testing.T) {
	d, kernel := start(t, telephony)
	require.NoError(t, d.Send([]byte{1, 2}))
	kind, body := kernel.receive()
	require.EqualValues(t, eventInput, kind)
	require.Equal(t, encode(uint16(2), []byte{1, 2}), body)

	require.ErrorContains(t, d.Send(make([]byte, 4097)), "4097 bytes")
	require.NoError(t, d.Destroy())
	require.ErrorIs(t, d.Send([]byte{1, 2}), os.ErrClosed)
	require.NoError(t, d.Destroy(), "once more")
}

func report(bytes ...byte) (data [maxReport]byte) {
	copy(data[:], bytes)
	return data
}

func TestRequests(t *testing.T) {
	o := telephony
	o.Answer = func(r Request) ([]byte, error) {
		if r.Number == 9 {
			return nil, errors.New("no such report")
		}
		return []byte{r.Number, 0x55}, nil
	}
	d, kernel := start(t, o)

	kernel.send(eventOutput, outputFields{report(1, 2), 2, OutputReport})
	kernel.send(eventGetReport, getFields{71, 3, FeatureReport})
	kind, body := kernel.receive()
	require.EqualValues(t, eventGetReportReply, kind)
	require.Equal(t, encode(uint32(71), uint16(0), uint16(2), []byte{3, 0x55}), body)

	kernel.send(eventGetReport, getFields{72, 9, InputReport})
	_, body = kernel.receive()
	require.Equal(t, encode(uint32(72), uint16(5), uint16(0)), body, "EIO")

	kernel.send(eventSetReport, setFields{getFields{73, 3, FeatureReport}, 3, report(3, 7, 8)})
	kind, body = kernel.receive()
	require.EqualValues(t, eventSetReportReply, kind)
	require.Equal(t, encode(uint32(73), uint16(0)), body)

	require.Equal(t, []Request{
		{Kind: Output, Type: OutputReport, Number: 1, Report: []byte{1, 2}},
		{Kind: Get, Type: FeatureReport, Number: 3},
		{Kind: Get, Type: InputReport, Number: 9},
		{Kind: Set, Type: FeatureReport, Number: 3, Report: []byte{3, 7, 8}},
	}, d.Requests())
}

func TestRequestsWithoutAnAnswer(t *testing.T) {
	d, kernel := start(t, telephony)
	kernel.send(eventSetReport, setFields{getFields{1, 3, FeatureReport}, 1, report(3)})
	_, body := kernel.receive()
	require.Equal(t, encode(uint32(1), uint16(5)), body)
	require.Len(t, d.Requests(), 1)
}

func TestAnswerThatIsTooLong(t *testing.T) {
	o := telephony
	o.Answer = func(Request) ([]byte, error) { return make([]byte, 4097), nil }
	_, kernel := start(t, o)
	kernel.send(eventGetReport, getFields{1, 3, FeatureReport})
	_, body := kernel.receive()
	require.Equal(t, encode(uint32(1), uint16(5), uint16(0)), body)
}

func TestWhatTheKernelMustNotSend(t *testing.T) {
	for name, event := range map[string][]byte{
		"short type":    {1},
		"short request": encode(uint32(eventGetReport), uint16(1)),
		"short set":     encode(uint32(eventSetReport), uint16(1)),
		"short output":  encode(uint32(eventOutput), uint16(1)),
		"long output":   encode(uint32(eventOutput), outputFields{report(), 4097, OutputReport}),
		"long set":      encode(uint32(eventSetReport), setFields{getFields{1, 1, 0}, 65535, report()}),
	} {
		t.Run(name, func(t *testing.T) {
			d, kernel := start(t, telephony)
			_, err := kernel.Write(event)
			require.NoError(t, err)
			<-d.done
			require.ErrorContains(t, d.Destroy(), "event")
		})
	}
}

func TestEventsThatMeanNothing(t *testing.T) {
	d, kernel := start(t, telephony)
	const stop, open, closed = 3, 4, 5
	for _, kind := range []uint32{open, closed, stop, eventStart, 99} {
		kernel.send(kind)
	}
	kernel.send(eventOutput, outputFields{report(), 0, OutputReport})
	require.Eventually(t, func() bool { return len(d.Requests()) == 1 }, patience, time.Millisecond)
	require.Equal(t, []Request{{Kind: Output, Type: OutputReport, Report: []byte{}}}, d.Requests())
}

// There is a real uhid hardly anywhere but in the virtual machine; the error has to say what is missing.
func TestCreateWithoutUhid(t *testing.T) {
	_, err := createIn(filepath.Join(t.TempDir(), "uhid"), telephony)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "module uhid")
}
