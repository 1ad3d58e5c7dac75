package fakeusb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// controller is the first virtual host controller. Writing attach and detach there is what needs privileges.
const controller = "/sys/devices/platform/vhci_hcd.0"

// portTimeout bounds how long the kernel may take to free a port.
const portTimeout = 10 * time.Second

// plug is a device in a port of the virtual host controller.
type plug struct {
	port int
	conn io.Closer
	done chan struct{} // closed when the session has ended
	err  error         // why, valid after done
}

// plugIn attaches device to a high-speed port of the first controller, numbered from 0. The kernel enumerates it after
// plugIn has returned. It fails when the module vhci_hcd is not loaded, the port is taken or the process may not write the
// controller's attach file.
func plugIn(port int, device Device) (inserted, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket pair for the virtual usb port: %w", err)
	}
	// The kernel takes its own reference to its end.
	defer func() { _ = unix.Close(fds[1]) }()
	file := os.NewFile(uintptr(fds[0]), "vhci")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		return nil, fmt.Errorf("use the socket of the virtual usb port: %w", err)
	}
	// The device number only has to differ between ports.
	deviceID := 1<<16 | (port + 1)
	request := fmt.Sprintf("%d %d %d %d", port, fds[1], deviceID, device.Speed())
	if err := os.WriteFile(controller+"/attach", []byte(request), 0); err != nil {
		conn.Close()
		return nil, fmt.Errorf("attach to virtual usb port %d (needs the module vhci_hcd and write access): %w", port, err)
	}
	p := &plug{port: port, conn: conn, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = Serve(conn, device)
	}()
	return p, nil
}

// PullOut removes the device without warning, as pulling its plug does, and waits until the port can be used again.
func (p *plug) PullOut() error {
	detach := os.WriteFile(controller+"/detach", []byte(strconv.Itoa(p.port)), 0)
	// Closing our end is a surprise removal too, so the session ends even if detach failed.
	p.conn.Close()
	<-p.done
	if detach != nil {
		return fmt.Errorf("detach virtual usb port %d: %w", p.port, detach)
	}
	return awaitFree(p.port)
}

// Err is why the session ended, nil while it runs and after an orderly end.
func (p *plug) Err() error {
	select {
	case <-p.done:
		if errors.Is(p.err, net.ErrClosed) {
			return nil
		}
		return p.err
	default:
		return nil
	}
}

// awaitFree polls, because the kernel frees a port in the background and does not say when.
func awaitFree(port int) error {
	ctx, cancel := context.WithTimeout(context.Background(), portTimeout)
	defer cancel()
	for {
		status, err := os.ReadFile(controller + "/status")
		if err != nil {
			return fmt.Errorf("read the state of virtual usb port %d: %w", port, err)
		}
		if portFree(string(status), port) {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("virtual usb port %d is still in use %v after the detach", port, portTimeout)
		}
	}
}

// portFree reads the controller's status table: a line per port, "hs  0003 004 ...", the third column 4 when it is free.
func portFree(status string, port int) bool {
	const free = "004"
	for line := range strings.Lines(status) {
		var hub, state string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d %s", &hub, &n, &state); err == nil && n == port {
			return state == free
		}
	}
	return false
}

// NewBench returns a bench with nothing plugged in.
func NewBench() *Bench {
	return &Bench{slots: map[int]slot{}, plugIn: plugIn}
}
