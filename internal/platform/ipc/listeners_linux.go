package ipc

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sidetone/internal/local"
)

// Listeners returns the current listener of each of the ports that has one, in the order of ports, with UID and ID; Identify adds the
// process. An error means unknown, never none.
func (Machine) Listeners(ports []int) ([]local.Listener, error) {
	if rows, err := diagListeners(); err == nil {
		return listenersOf(rows, ports), nil
	}
	return listeners("/proc", ports) // slower, but its errors say what is wrong
}

func listeners(proc string, ports []int) ([]local.Listener, error) {
	var rows []tcpRow
	for _, table := range []string{"tcp", "tcp6"} {
		more, err := readTCP(filepath.Join(proc, "net", table))
		if table == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			break // a kernel without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("who listens on TCP ports is unknown: %w", err)
		}
		rows = append(rows, more...)
	}
	return listenersOf(rows, ports), nil
}

func listenersOf(rows []tcpRow, ports []int) []local.Listener {
	rows = reachable(rows, ports)
	list := make([]local.Listener, len(rows))
	for i, r := range rows {
		list[i] = local.Listener{Port: int(r.local.Port()), ID: r.id, Process: local.Process{UID: strconv.FormatUint(uint64(r.owner), 10)}}
	}
	return list
}

// Identify fills in PID and Name of each listener whose process this user may inspect. It searches the open files of all processes of the
// listeners' users, which takes some milliseconds: call it once for each listener.
func (Machine) Identify(list []local.Listener) { identify("/proc", list) }

func identify(proc string, list []local.Listener) {
	owners := ownersOf(proc, list)
	for i := range list {
		list[i].PID = owners[list[i].ID]
		list[i].Name = comm(proc, list[i].PID)
	}
}

func readTCP(path string) ([]tcpRow, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := parseTCP(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// parseTCP returns the listeners in a table in the format of /proc/net/tcp or tcp6. A table that it does not understand is an error: a
// missed listener would be a wrong "none".
//
// The kernel lists listeners before connections. To find all connections it walks a hash table that grows with the machine's memory,
// which takes milliseconds: so it is read line by line, and only up to the first connection.
func parseTCP(table io.Reader) ([]tcpRow, error) {
	const listen, established, lineLength = "0A", "01", 150
	lines := bufio.NewScanner(table)
	lines.Buffer(make([]byte, lineLength), bufio.MaxScanTokenSize)
	if !lines.Scan() || !strings.Contains(lines.Text(), "local_address") {
		return nil, errors.Join(errors.New("not a table of TCP sockets"), lines.Err())
	}
	var rows []tcpRow
	for lines.Scan() {
		// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ...
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			return nil, fmt.Errorf("not a TCP socket: %q", lines.Text())
		}
		if f[3] == established {
			return rows, nil
		}
		if f[3] != listen {
			continue
		}
		local, err := parseEndpoint(f[1])
		uid, uidErr := strconv.ParseUint(f[7], 10, 32)
		inode, inodeErr := strconv.ParseUint(f[9], 10, 64)
		if err := errors.Join(err, uidErr, inodeErr); err != nil {
			return nil, fmt.Errorf("not a TCP socket: %q: %w", lines.Text(), err)
		}
		rows = append(rows, tcpRow{local: local, owner: uint32(uid), id: inode})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return rows, nil
}

// parseEndpoint parses "0100007F:1F90": the address as one or four words in the machine's byte order, and the port.
func parseEndpoint(s string) (netip.AddrPort, error) {
	host, number, _ := strings.Cut(s, ":")
	words, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if len(words) != 4 && len(words) != 16 {
		return netip.AddrPort{}, fmt.Errorf("not an address: %q", host)
	}
	for i := 0; i < len(words); i += 4 {
		binary.BigEndian.PutUint32(words[i:], binary.NativeEndian.Uint32(words[i:]))
	}
	addr, _ := netip.AddrFromSlice(words)
	port, err := strconv.ParseUint(number, 16, 16)
	return netip.AddrPortFrom(addr, uint16(port)), err
}

// ownersOf returns the process that holds each listener's socket, by inode, as far as this user may look. It searches only processes of
// the listeners' users.
//
// A socket that was inherited by children has several holders. The lowest pid is taken: unless pids have wrapped, that process opened the
// socket. So the search can also stop once all sockets are found.
func ownersOf(proc string, list []local.Listener) map[uint64]int {
	owners, users, wanted := map[uint64]int{}, map[string]bool{}, map[string]uint64{}
	for _, l := range list {
		users[l.UID] = true
		wanted[fmt.Sprintf("socket:[%d]", l.ID)] = l.ID
	}
	if len(wanted) == 0 {
		return owners
	}
	for _, pid := range pids(proc) {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		info, err := os.Stat(dir)
		if err != nil || !users[strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10)] {
			continue
		}
		for _, target := range openFiles(dir) {
			if inode, ok := wanted[target]; ok {
				owners[inode] = pid
				delete(wanted, target)
			}
		}
		if len(wanted) == 0 {
			break
		}
	}
	return owners
}

// pids returns the visible processes in ascending order.
func pids(proc string) []int {
	entries, _ := os.ReadDir(proc) // if it fails, the owners are unknown
	var list []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	slices.Sort(list)
	return list
}

// openFiles returns what the file descriptors of a process refer to; nothing if this user may not look or the process has ended.
func openFiles(process string) []string {
	dir := filepath.Join(process, "fd")
	entries, _ := os.ReadDir(dir)
	var targets []string
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}
