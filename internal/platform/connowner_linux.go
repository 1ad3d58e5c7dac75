package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
)

// ConnOwner says whose the other end of conn is, a TCP connection to a port of this machine. It
// is unknown (a Process without a user) until the other side has accepted the connection. A port
// may change hands between a look at its listener and the dial; what this returns concerns the
// connection itself. It goes through the open files of that user's processes, some
// milliseconds.
func ConnOwner(conn net.Conn) (Process, error) {
	here, err := netip.ParseAddrPort(conn.LocalAddr().String())
	there, thereErr := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err := errors.Join(err, thereErr); err != nil {
		return Process{}, fmt.Errorf("whose the other end of a connection is: not TCP: %w", err)
	}
	return connOwner("/proc", here, there)
}

func connOwner(proc string, here, there netip.AddrPort) (Process, error) {
	for _, table := range []string{"tcp", "tcp6"} {
		rows, err := readTCP(filepath.Join(proc, "net", table), tcpEstablished)
		if table == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			break // a kernel without IPv6
		}
		if err != nil {
			return Process{}, fmt.Errorf("whose the other end of a connection is: %w", err)
		}
		for _, r := range rows {
			// A connection that nobody has accepted yet belongs to nobody: it has no inode.
			if r.inode != 0 && same(r.local, there) && same(r.remote, here) {
				return r.owner(proc), nil
			}
		}
	}
	return Process{}, nil
}

func (r tcpRow) owner(proc string) Process {
	p := Process{UID: strconv.FormatUint(uint64(r.uid), 10)}
	p.PID = ownersOf(proc, []Listener{{ID: r.inode, Process: p}})[r.inode]
	p.Name = comm(proc, p.PID)
	return p
}

// same holds for an IPv4 address and its form in a socket that takes IPv6, too.
func same(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && a.Addr().Unmap() == b.Addr().Unmap()
}
