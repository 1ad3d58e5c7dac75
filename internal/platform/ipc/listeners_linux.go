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

// Listeners tells which of the ports have a listener now, in the order of ports, one each, with
// UID and ID; for the process see Identify. An error means unknown, never none.
func (Machine) Listeners(ports []int) ([]local.Listener, error) {
	if rows, err := diagListeners(); err == nil {
		return listenersOf(rows, ports), nil
	}
	return listeners("/proc", ports) // slower, and says what is wrong
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

// Identify fills in PID and Name of each listener, if this user may look at its process. It
// goes through the open files of all processes of the listeners' users, some milliseconds: ask
// once for each listener.
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

// parseTCP returns the listeners of a table in the form of /proc/net/tcp or tcp6. A table that
// it does not understand is an error: a listener left out would be a wrong "none".
//
// The kernel lists listeners before connections. To find all of those it goes through a table that grows with the machine's memory, which
// takes milliseconds: so no more is read at a time than one line has, and nothing behind the first connection.
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

// parseEndpoint reads "0100007F:1F90": the address as one or four words in the machine's byte
// order, the port as a number.
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

// ownersOf returns the process that holds each listener's socket, by inode, as far as this user
// may look. Only processes of the listeners' users are asked.
//
// A socket that was handed to children has several holders. The lowest pid is taken: pids grow,
// so it is the one that opened it, unless they have started over since. And it allows to stop
// as soon as all are found.
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

// pids returns the processes that can be seen, in ascending order.
func pids(proc string) []int {
	entries, _ := os.ReadDir(proc) // what cannot be read is unknown
	var list []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	slices.Sort(list)
	return list
}

// openFiles returns what the descriptors of a process lead to, nothing if this user may not
// look or the process has ended.
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
