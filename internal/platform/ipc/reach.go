//go:build linux || windows

package ipc

import (
	"cmp"
	"net/netip"
	"slices"
)

// reach127 are the local addresses on which a listener accepts connections to 127.0.0.1, in the order in which the kernel prefers them. A
// listener on :: may have refused IPv4 (IPV6_V6ONLY); the table does not show that, so it counts.
var reach127 = []netip.Addr{
	netip.MustParseAddr("127.0.0.1"),
	netip.MustParseAddr("::ffff:127.0.0.1"),
	netip.MustParseAddr("0.0.0.0"),
	netip.MustParseAddr("::ffff:0.0.0.0"),
	netip.MustParseAddr("::"),
}

// tcpRow is a listener in the kernel's table.
type tcpRow struct {
	local netip.AddrPort
	owner uint32 // Linux: the uid; Windows: the pid
	id    uint64 // Linux: the inode; Windows: when it was opened
}

// reachable returns, in the order of ports, the listener that gets the connections to each of the ports on 127.0.0.1.
func reachable(rows []tcpRow, ports []int) []tcpRow {
	rows = slices.DeleteFunc(rows, func(r tcpRow) bool {
		return !slices.Contains(reach127, r.local.Addr()) || !slices.Contains(ports, int(r.local.Port()))
	})
	slices.SortStableFunc(rows, func(a, b tcpRow) int {
		return cmp.Or(
			cmp.Compare(a.local.Port(), b.local.Port()),
			cmp.Compare(slices.Index(reach127, a.local.Addr()), slices.Index(reach127, b.local.Addr())),
			cmp.Compare(a.id, b.id), // several sockets may share a port (SO_REUSEPORT)
		)
	})
	return slices.CompactFunc(rows, func(a, b tcpRow) bool { return a.local.Port() == b.local.Port() })
}
