package linux

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
)

// kernelAdd is what Linux 6.1 sends for a camera's node.
const kernelAdd = "add@/devices/pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/video4linux/video0\x00ACTION=add\x00" +
	"DEVPATH=/devices/pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/video4linux/video0\x00SUBSYSTEM=video4linux\x00" +
	"MAJOR=81\x00MINOR=0\x00DEVNAME=video0\x00SEQNUM=4711\x00"

func TestSubsystemOf(t *testing.T) {
	for _, c := range []struct{ name, msg, want string }{
		{"a camera", kernelAdd, "video4linux"},
		{"cut off", "remove@/devices/x\x00SUBSYSTEM=sound", "sound"},
		{"a value with = and @", "change@/d\x00NAME=a=b@c\x00SUBSYSTEM=usb\x00", "usb"},
		{"udev's own format", "libudev\x00\xfe\xed\xca\xfe\x28\x00\x00\x00SUBSYSTEM=sound\x00", ""},
		{"nothing", "", ""},
		{"no end of header", "add@/devices/x", ""},
		{"no action", "@/devices/x\x00SUBSYSTEM=sound\x00", ""},
		{"no path", "add@\x00SUBSYSTEM=sound\x00", ""},
		{"a relative path", "add@x\x00SUBSYSTEM=sound\x00", ""},
		{"no subsystem", "add@/devices/x\x00ACTION=add\x00", ""},
	} {
		require.Equal(t, c.want, subsystemOf([]byte(c.msg)), c.name)
	}
}

func FuzzUevent(f *testing.F) {
	f.Add([]byte(kernelAdd))
	f.Add([]byte("libudev\x00\xfe\xed\xca\xfe"))
	f.Add([]byte("add@/\x00SUBSYSTEM="))
	f.Fuzz(func(t *testing.T, msg []byte) {
		if subsystem := subsystemOf(msg); subsystem != "" {
			require.Contains(t, string(msg), "@/")
			require.Contains(t, string(msg), "\x00SUBSYSTEM="+subsystem)
		}
	})
}

func FuzzInotifyEvents(f *testing.F) {
	f.Add(append(make([]byte, unix.SizeofInotifyEvent), "video0"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for e := range InotifyEvents(b) {
			total += unix.SizeofInotifyEvent + len(e.Name)
		}
		require.LessOrEqual(t, total, len(b))
	})
}

func TestUeventStep(t *testing.T) {
	for _, c := range []struct {
		name    string
		msg     string
		port    uint32
		err     error
		notices int
		ends    bool
	}{
		{name: "the kernel", msg: kernelAdd, notices: 1},
		{name: "another process", msg: kernelAdd, port: 4242},
		{name: "another subsystem", msg: strings.ReplaceAll(kernelAdd, "SUBSYSTEM=video4linux", "SUBSYSTEM=net")},
		{name: "nonsense", msg: "nonsense"},
		{name: "events were lost", err: unix.ENOBUFS, notices: 1},
		{name: "interrupted", err: unix.EINTR},
		{name: "closed", err: os.ErrClosed, ends: true},
		{name: "broken", err: unix.EBADF, ends: true},
	} {
		notices := 0
		step := ueventStep(func(buf []byte) (int, uint32, error) {
			return copy(buf, c.msg), c.port, c.err
		}, "video4linux", func() { notices++ })
		err := step()
		require.Equal(t, c.ends, err != nil, c.name)
		if c.ends {
			require.ErrorIs(t, err, c.err, c.name)
		}
		require.Equal(t, c.notices, notices, c.name)
	}
}

// nullUevent is where root can make the kernel send an event of its own, of the subsystem mem.
const nullUevent = "/sys/class/mem/null/uevent"

func kernelEvents(t *testing.T) *os.File {
	file, err := os.OpenFile(nullUevent, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("only root with a writable sysfs can make the kernel send a device event: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

const synthetic = "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed PROBE=1"

func TestUeventOfTheKernel(t *testing.T) {
	platformtest.NoLeak(t)
	kernel := kernelEvents(t)
	heard, other := signal.New(), signal.New()
	r, err := watchUevents("mem", heard.Notify)
	require.NoError(t, err)
	o, err := watchUevents("video4linux", other.Notify)
	require.NoError(t, err)
	_, err = kernel.WriteString(synthetic)
	require.NoError(t, err)
	select {
	case <-heard:
	case <-platformtest.Deadline(t).Done():
		t.Fatal("the kernel's event did not arrive")
	}
	require.NoError(t, r.Failed())
	require.NoError(t, r.Close())
	require.NoError(t, o.Close())
	require.NoError(t, r.Failed(), "closing is no failure")
	require.Empty(t, other, "an event of another subsystem")
	require.Empty(t, heard, "closing is no event")
}

// A process that may send to the kernel's group is not the kernel.
func TestUeventForged(t *testing.T) {
	platformtest.NoLeak(t)
	kernel := kernelEvents(t)
	heard, last := signal.New(), signal.New()
	r, err := watchUevents("video4linux", heard.Notify)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Sendto(fd, []byte(kernelAdd), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: ueventKernel}))

	end, err := watchUevents("mem", last.Notify)
	require.NoError(t, err)
	_, err = kernel.WriteString(synthetic)
	require.NoError(t, err)
	select {
	case <-last:
	case <-platformtest.Deadline(t).Done():
		t.Fatal("the kernel's event did not arrive")
	}
	require.NoError(t, r.Close())
	require.NoError(t, end.Close())
	require.Empty(t, heard)
}

// When the socket's queue overflows the kernel says so once; that means "look again".
func TestUeventOverflow(t *testing.T) {
	platformtest.NoLeak(t)
	kernel := kernelEvents(t)
	file, err := openUevents()
	require.NoError(t, err)
	conn, err := file.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, conn.Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1))
	}))
	for i := range 100 {
		_, err := fmt.Fprintf(kernel, "%s%d", synthetic, i)
		require.NoError(t, err)
	}
	heard := signal.New()
	r := StartReader(file, ueventStep(receiver(file), "of-no-device", heard.Notify), heard.Notify)
	select {
	case <-heard:
	case <-platformtest.Deadline(t).Done():
		t.Fatal("the overflow went unnoticed")
	}
	require.NoError(t, r.Failed())
	require.NoError(t, r.Close())
}

func TestUeventsThatEndAreNoticed(t *testing.T) {
	platformtest.NoLeak(t)
	read, write, err := os.Pipe() // no socket: receiving from it fails
	require.NoError(t, err)
	defer write.Close()
	_, err = write.WriteString("x")
	require.NoError(t, err)
	heard := signal.New()
	r := StartReader(read, ueventStep(receiver(read), "of-no-device", heard.Notify), heard.Notify)
	select {
	case <-heard:
	case <-platformtest.Deadline(t).Done():
		t.Fatal("the end went unnoticed")
	}
	require.ErrorIs(t, r.Failed(), unix.ENOTSOCK)
	require.NoError(t, r.Close())
}
