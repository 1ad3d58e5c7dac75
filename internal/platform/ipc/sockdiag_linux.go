package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of struct inet_diag_req_v2 and inet_diag_msg (linux/inet_diag.h). Ports and addresses are in network byte order.
const (
	diagRequestSize  = 56
	diagStatesAt     = 4
	diagPortAt       = 4
	diagAddressAt    = 8
	diagOwnerAt      = 64
	diagInodeAt      = 68
	diagMessageSize  = 72
	diagListenStates = 1 << 10 // TCP_LISTEN
)

// diagListeners asks the kernel for listeners only. Reading its tables below /proc takes milliseconds: after the listeners the kernel
// looks for connections in a hash table that grows with the machine's memory. It fails if the kernel has no sock_diag.
func diagListeners() ([]tcpRow, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	var rows []tcpRow
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		request := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
		binary.NativeEndian.PutUint32(request, uint32(len(request)))
		binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
		binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
		body := request[unix.SizeofNlMsghdr:]
		body[0], body[1] = family, unix.IPPROTO_TCP
		binary.NativeEndian.PutUint32(body[diagStatesAt:], diagListenStates)
		if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, os.NewSyscallError("sendto", err)
		}
		for done := false; !done; {
			answer := make([]byte, 32<<10) // the kernel's limit for one answer
			n, _, err := unix.Recvfrom(fd, answer, 0)
			if err != nil {
				return nil, os.NewSyscallError("recvfrom", err)
			}
			var more []tcpRow
			if more, done, err = parseDiag(answer[:n]); err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// parseDiag returns the listeners of one datagram, and whether it is the last.
func parseDiag(datagram []byte) (rows []tcpRow, done bool, err error) {
	messages, err := syscall.ParseNetlinkMessage(datagram)
	if err != nil || len(messages) == 0 {
		return nil, false, errors.Join(errors.New("what sock_diag says is no message"), err)
	}
	for _, m := range messages {
		switch {
		case m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR:
			if len(m.Data) < 4 {
				return nil, false, errors.New("what sock_diag says is cut")
			}
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code < 0 {
				return nil, false, os.NewSyscallError("sock_diag", syscall.Errno(-code))
			}
			return rows, true, nil
		case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < diagMessageSize:
			return nil, false, fmt.Errorf("sock_diag says what is not a socket: type %d, %d bytes", m.Header.Type, len(m.Data))
		}
		size := 4
		if m.Data[0] == unix.AF_INET6 {
			size = 16
		}
		address, _ := netip.AddrFromSlice(m.Data[diagAddressAt : diagAddressAt+size])
		rows = append(rows, tcpRow{
			local: netip.AddrPortFrom(address, binary.BigEndian.Uint16(m.Data[diagPortAt:])),
			owner: binary.NativeEndian.Uint32(m.Data[diagOwnerAt:]), id: uint64(binary.NativeEndian.Uint32(m.Data[diagInodeAt:])),
		})
	}
	return rows, false, nil
}
