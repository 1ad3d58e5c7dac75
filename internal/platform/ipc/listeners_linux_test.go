package ipc

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/local"
	"sidetone/internal/platform/session"
)

const tcpHeader = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// kernelAddress writes an address as the kernel does: words in the machine's byte order.
func kernelAddress(addr string) string {
	b := netip.MustParseAddr(addr).AsSlice()
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	return strings.ToUpper(hex.EncodeToString(b))
}

// tcpLine is a line of the table; state 0A is LISTEN.
func tcpLine(addr string, port int, state string, uid, inode int) string {
	return fmt.Sprintf("   0: %s:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000 %5d        0 %d"+
		" 1 0000000000000000 100 0 0 10 0\n",
		kernelAddress(addr), port, state, uid, inode)
}

// fakeProc writes the tables below a folder that stands for /proc.
func fakeProc(t *testing.T, tcp, tcp6 string) string {
	proc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(proc, "net"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(proc, "net", "tcp"), []byte(tcpHeader+tcp), 0o644))
	if tcp6 != "" {
		require.NoError(t, os.WriteFile(filepath.Join(proc, "net", "tcp6"), []byte(tcpHeader+tcp6), 0o644))
	}
	return proc
}

// addProcess adds a process of this user that holds the sockets with the given inodes.
func addProcess(t *testing.T, proc string, pid int, name string, inodes ...int) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "fd"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "comm"), []byte(name+"\n"), 0o644))
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "fd", "0")))
	for i, inode := range inodes {
		require.NoError(t, os.Symlink(fmt.Sprintf("socket:[%d]", inode), filepath.Join(dir, "fd", strconv.Itoa(i+3))))
	}
}

func TestListenersOfTable(t *testing.T) {
	me := os.Getuid()
	user := strconv.Itoa(me)
	unknown := func(port int, inode uint64) local.Listener {
		return local.Listener{Port: port, ID: inode, Process: local.Process{UID: user}}
	}
	for _, c := range []struct {
		name, tcp, tcp6 string
		want            []local.Listener
	}{
		{"none", "", "", []local.Listener{}},
		{"loopback", tcpLine("127.0.0.1", 6463, "0A", me, 7), "", []local.Listener{unknown(6463, 7)}},
		{"any", tcpLine("0.0.0.0", 6463, "0A", me, 7), "", []local.Listener{unknown(6463, 7)}},
		{"any of both kinds", "", tcpLine("::", 6463, "0A", me, 7), []local.Listener{unknown(6463, 7)}},
		{"loopback in IPv6", "", tcpLine("::ffff:127.0.0.1", 6463, "0A", me, 7), []local.Listener{unknown(6463, 7)}},
		{"any IPv4 in IPv6", "", tcpLine("::ffff:0.0.0.0", 6463, "0A", me, 7), []local.Listener{unknown(6463, 7)}},
		{
			"elsewhere",
			tcpLine("127.0.0.2", 6463, "0A", me, 7) + tcpLine("192.0.2.1", 6463, "0A", me, 8), tcpLine("::1", 6463, "0A", me, 9),
			[]local.Listener{},
		},
		{"not a listener", tcpLine("127.0.0.1", 6463, "01", me, 7) + tcpLine("127.0.0.1", 6463, "06", 0, 0), "", []local.Listener{}},
		{"another port", tcpLine("127.0.0.1", 6474, "0A", me, 7), "", []local.Listener{}},
		{
			"in order",
			tcpLine("127.0.0.1", 6465, "0A", me, 7) + tcpLine("127.0.0.1", 6463, "0A", me, 8), tcpLine("::", 6464, "0A", me, 9),
			[]local.Listener{unknown(6463, 8), unknown(6464, 9), unknown(6465, 7)},
		},
		{
			"the nearest address wins",
			tcpLine("0.0.0.0", 6463, "0A", me, 6) + tcpLine("127.0.0.1", 6463, "0A", me, 7), tcpLine("::", 6463, "0A", me, 5),
			[]local.Listener{unknown(6463, 7)},
		},
		{
			"a shared port",
			tcpLine("127.0.0.1", 6463, "0A", me, 9) + tcpLine("127.0.0.1", 6463, "0A", me, 7), "",
			[]local.Listener{unknown(6463, 7)},
		},
	} {
		got, err := listeners(fakeProc(t, c.tcp, c.tcp6), []int{6463, 6464, 6465, 6463, -1, 1 << 20})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

func TestListenersOwners(t *testing.T) {
	me := os.Getuid()
	proc := fakeProc(t, tcpLine("127.0.0.1", 6463, "0A", me, 71)+tcpLine("127.0.0.1", 6464, "0A", me, 72), "")
	addProcess(t, proc, 1000, "child", 71)
	addProcess(t, proc, 999, "Disc\x1bord", 5, 71) // lower as a number, not as a text
	addProcess(t, proc, 1200, "other", 6)
	require.NoError(t, os.WriteFile(filepath.Join(proc, "400"), nil, 0o644))
	got, err := listeners(proc, []int{6463, 6464, 6465})
	identify(proc, got)
	require.NoError(t, err)
	require.Equal(t, []local.Listener{
		{Port: 6463, ID: 71, Process: local.Process{PID: 999, UID: strconv.Itoa(me), Name: "Disc?ord"}},
		{Port: 6464, ID: 72, Process: local.Process{UID: strconv.Itoa(me)}},
	}, got)

	proc = fakeProc(t, tcpLine("127.0.0.1", 6463, "0A", me+1, 71), "")
	addProcess(t, proc, 300, "stranger", 71)
	got, err = listeners(proc, []int{6463})
	identify(proc, got)
	require.NoError(t, err)
	foreign := local.Listener{Port: 6463, ID: 71, Process: local.Process{UID: strconv.Itoa(me + 1)}}
	require.Equal(t, []local.Listener{foreign}, got, "only that user's processes are asked")
}

func TestListenersUnknown(t *testing.T) {
	good := tcpLine("127.0.0.1", 6463, "0A", 0, 7)
	for name, table := range map[string]string{
		"empty":         "",
		"another file":  "Inter-| Receive\n",
		"cut":           tcpHeader + good[:60],
		"address":       tcpHeader + strings.Replace(good, kernelAddress("127.0.0.1"), "zz00007F", 1),
		"short address": tcpHeader + strings.Replace(good, kernelAddress("127.0.0.1"), "7F", 1),
		"port":          tcpHeader + strings.Replace(good, ":193F", "", 1),
		"uid":           tcpHeader + strings.Replace(good, "    0        0 7", "   -1        0 7", 1),
		"inode":         tcpHeader + strings.Replace(good, "0 7 1", "0 x 1", 1),
		"endless line":  tcpHeader + strings.Repeat("x", 1<<20),
	} {
		require.NotEqual(t, tcpHeader+good, table, name)
		proc := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(proc, "net"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(proc, "net", "tcp"), []byte(table), 0o644))
		got, err := listeners(proc, []int{6463})
		identify(proc, got)
		require.ErrorContains(t, err, filepath.Join(proc, "net", "tcp"), name)
		require.Nil(t, got, name)
	}
	_, err := listeners(t.TempDir(), []int{6463})
	require.ErrorIs(t, err, os.ErrNotExist, "no table is not an empty table")
}

// TestConnectionsAreNotRead: the kernel takes milliseconds to list them.
func TestConnectionsAreNotRead(t *testing.T) {
	table := tcpHeader + tcpLine("127.0.0.1", 6463, "0A", 0, 7) + tcpLine("127.0.0.1", 6463, "01", 0, 8)
	rows, err := parseTCP(io.MultiReader(strings.NewReader(table), iotest.ErrReader(errors.New("read on"))))
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func FuzzTCPTable(f *testing.F) {
	f.Add(tcpHeader + tcpLine("127.0.0.1", 6463, "0A", 1000, 7))
	f.Add(tcpHeader + tcpLine("::ffff:127.0.0.1", 6463, "0A", 1000, 7) + tcpLine("::", 1, "01", 0, 0))
	f.Add(tcpHeader + "0: 0:0 0 0A 0 0 0 0 0 0")
	f.Fuzz(func(t *testing.T, table string) {
		rows, err := parseTCP(strings.NewReader(table))
		if err != nil {
			require.Nil(t, rows)
			return
		}
		again := tcpHeader
		for _, r := range rows {
			require.True(t, r.local.Addr().IsValid())
			again += tcpLine(r.local.Addr().String(), int(r.local.Port()), "0A", int(r.owner), 0)
		}
		repeated, err := parseTCP(strings.NewReader(again))
		require.NoError(t, err)
		require.Len(t, repeated, len(rows))
		for i, r := range repeated {
			require.Equal(t, rows[i].local, r.local)
			require.Equal(t, rows[i].owner, r.owner)
		}
	})
}

// reopen listens on address until the test ends.
func reopen(t *testing.T, network, address string) (port int, stop func()) {
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port, func() { require.NoError(t, listener.Close()) }
}

// TestSockDiag: it says of this machine's listeners what the tables below /proc say.
func TestSockDiag(t *testing.T) {
	var ports []int
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "127.0.0.2:0", "[::1]:0", "[::]:0"} {
		if l, err := net.Listen("tcp", at); err == nil { // there may be no IPv6
			defer l.Close()
			ports = append(ports, portOf(t, l.Addr().String()))
		}
	}
	rows, err := diagListeners()
	require.NoError(t, err)
	table, err := listeners("/proc", ports)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(table), 2)
	require.Equal(t, table, listenersOf(rows, ports))
}

// TestSockDiagUnknown: what is not understood is no empty list.
func TestSockDiagUnknown(t *testing.T) {
	message := func(kind uint16, data ...byte) []byte {
		head := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(data)))
		return append(append(binary.NativeEndian.AppendUint16(head, kind), make([]byte, 10)...), data...)
	}
	missing := -int32(unix.ENOENT)
	code := binary.NativeEndian.AppendUint32(nil, uint32(missing))
	for _, kind := range []uint16{unix.NLMSG_ERROR, unix.NLMSG_DONE} { // a kernel without inet_diag answers with either
		_, _, err := parseDiag(message(kind, code...))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	for _, datagram := range [][]byte{
		{1}, message(unix.NLMSG_DONE), message(unix.SOCK_DIAG_BY_FAMILY, 2), message(99, make([]byte, diagMessageSize)...),
	} {
		_, _, err := parseDiag(datagram)
		require.Error(t, err, "%x", datagram)
	}
	rows, done, err := parseDiag(message(unix.NLMSG_DONE, 0, 0, 0, 0))
	require.NoError(t, err)
	require.True(t, done)
	require.Empty(t, rows)
}

func portOf(t *testing.T, address string) int {
	at, err := netip.ParseAddrPort(address)
	require.NoError(t, err)
	return int(at.Port())
}

func TestListenersOfThisProcess(t *testing.T) {
	self := local.Process{PID: os.Getpid(), UID: session.User(), Name: comm("/proc", os.Getpid())}
	port, stop := reopen(t, "tcp4", "127.0.0.1:0")
	wide, _ := reopen(t, "tcp4", "0.0.0.0:0")
	elsewhere, _ := reopen(t, "tcp4", "127.0.0.2:0")
	ports := []int{port, wide, elsewhere}
	if both, err := net.Listen("tcp", "[::]:0"); err == nil {
		defer both.Close()
		ports = append(ports, both.Addr().(*net.TCPAddr).Port)
	}
	got, err := in().Listeners(ports)
	in().Identify(got)
	require.NoError(t, err)
	found := map[int]local.Listener{}
	for _, l := range got {
		require.Equal(t, self, l.Process)
		require.NotZero(t, l.ID)
		found[l.Port] = l
	}
	require.NotContains(t, found, elsewhere)
	require.Len(t, found, len(ports)-1)

	stop()
	got, err = in().Listeners([]int{port})
	in().Identify(got)
	require.NoError(t, err)
	require.Empty(t, got)

	reopen(t, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	got, err = in().Listeners([]int{port})
	in().Identify(got)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.NotEqual(t, found[port].ID, got[0].ID)
}

func TestListenersOfAnotherUser(t *testing.T) {
	cmd := helper(t, nobody, "listen tcp4 127.0.0.1:0")
	port := portOf(t, start(t, cmd))
	got, err := in().Listeners([]int{port})
	in().Identify(got)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, local.Process{PID: cmd.Process.Pid, UID: nobody, Name: "3"}, got[0].Process)
}

// TestListenersSeenByAnotherUser looks at a process whose descriptors it may not read.
func TestListenersSeenByAnotherUser(t *testing.T) {
	port, _ := reopen(t, "tcp4", "127.0.0.1:0")
	got := output(t, helper(t, nobody, fmt.Sprintf("listeners %d", port)))
	list, err := in().Listeners([]int{port})
	in().Identify(list)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, fmt.Sprintf("[{Port:%d ID:%d Process:{PID:0 UID:%s Name: Denied:false OtherSession:false}}] <nil>",
		port, list[0].ID, session.User()), got)
}

// TestListenersInherited has a socket that a child holds too.
func TestListenersInherited(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	socket := os.NewFile(uintptr(fd), "socket")
	defer socket.Close()
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 1))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	port := name.(*syscall.SockaddrInet4).Port

	cmd := helper(t, "", "listen tcp4 127.0.0.1:0")
	cmd.ExtraFiles = append(cmd.ExtraFiles, socket)
	start(t, cmd)
	got, err := in().Listeners([]int{port})
	in().Identify(got)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, min(os.Getpid(), cmd.Process.Pid), got[0].PID)

	require.NoError(t, socket.Close())
	got, err = in().Listeners([]int{port})
	in().Identify(got)
	require.NoError(t, err)
	require.Len(t, got, 1, "the child still listens")
	require.Equal(t, cmd.Process.Pid, got[0].PID)
}
