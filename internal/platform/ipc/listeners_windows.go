package ipc

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/local"
)

var getExtendedTCPTable = windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")

// tcpTableOwnerModuleListener is the table of listeners with owner and creation time.
const tcpTableOwnerModuleListener = 6

// tableTries bounds how often a table that keeps changing is read.
const tableTries = 8

// Listeners returns the current listener of each of the ports that has one, in the order of ports, with its process and user. An error
// means unknown, never none; but the system's table lacks some listeners (HidesListeners).
func (Machine) Listeners(ports []int) ([]local.Listener, error) {
	rows, err := readListeners(ports)
	for range tableTries {
		if err != nil {
			return nil, fmt.Errorf("who listens on TCP ports is unknown: %w", err)
		}
		list, release := ownedListeners(rows)
		// Pids of open processes are not reused: if the table has not changed, they are the owners.
		now, err := readListeners(ports)
		release()
		if err == nil && slices.Equal(rows, now) {
			return list, nil
		}
		rows = now
	}
	return nil, errors.New("who listens on TCP ports is unknown: it changes all the time")
}

// ownedListeners opens the owners of the rows, and keeps them open until release is called.
func ownedListeners(rows []tcpRow) (list []local.Listener, release func()) {
	owners := make(map[uint32]*process)
	for _, r := range rows {
		p := owners[r.owner]
		if p == nil {
			p = openProcess(r.owner)
			owners[r.owner] = p
		}
		list = append(list, local.Listener{Port: int(r.local.Port()), ID: cmp.Or(r.id, p.started, uint64(r.owner)), Process: p.Process})
	}
	return list, func() {
		for _, p := range owners {
			p.close()
		}
	}
}

// Identify does nothing: Listeners has said it all.
func (Machine) Identify([]local.Listener) {}

func readListeners(ports []int) ([]tcpRow, error) {
	rows, err := readTable(windows.AF_INET, row4.listener)
	rows6, err6 := readTable(windows.AF_INET6, row6.listener)
	if err := cmp.Or(err, err6); err != nil {
		return nil, err
	}
	return reachable(append(rows, rows6...), ports), nil
}

// row4 is MIB_TCPROW_OWNER_MODULE.
type row4 struct {
	_       uint32 // state
	local   [4]byte
	port    [4]byte   // in the first two bytes, in network order
	_       [2]uint32 // remote address and port
	pid     uint32
	created uint64
	_       [16]uint64 // module
}

func (r row4) listener() tcpRow {
	return tcpRow{addrPort(netip.AddrFrom4(r.local), r.port), r.pid, r.created}
}

// row6 is MIB_TCP6ROW_OWNER_MODULE.
type row6 struct {
	local   [16]byte
	_       uint32 // scope
	port    [4]byte
	_       [7]uint32 // remote address, scope and port, state
	pid     uint32
	created uint64
	_       [16]uint64 // module
}

func (r row6) listener() tcpRow {
	return tcpRow{addrPort(netip.AddrFrom16(r.local), r.port), r.pid, r.created}
}

func addrPort(addr netip.Addr, port [4]byte) netip.AddrPort {
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port[:]))
}

// readTable reads the listeners of one address family.
func readTable[R row4 | row6](family uintptr, listener func(R) tcpRow) ([]tcpRow, error) {
	size := uint32(16 << 10)
	for range tableTries { // it may grow between two calls
		table := make([]uint64, (size+7)/8) // as the rows are aligned
		size = uint32(8 * len(table))
		result, _, _ := getExtendedTCPTable.Call(
			uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&size)), 0, family, tcpTableOwnerModuleListener, 0)
		switch err := windows.Errno(result); err {
		case windows.ERROR_SUCCESS:
			var rows []tcpRow
			for _, r := range unsafe.Slice((*R)(unsafe.Pointer(&table[1])), *(*uint32)(unsafe.Pointer(&table[0]))) {
				rows = append(rows, listener(r))
			}
			return rows, nil
		case windows.ERROR_INSUFFICIENT_BUFFER:
		case windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_PARAMETER:
			if family == windows.AF_INET6 { // this machine has no IPv6
				return nil, nil
			}
			return nil, err
		default:
			return nil, err
		}
	}
	return nil, windows.ERROR_INSUFFICIENT_BUFFER
}
