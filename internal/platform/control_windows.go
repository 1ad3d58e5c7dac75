package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// pipePrefix is what the address of a control pipe begins with; the user's SID follows.
const pipePrefix = `\\.\pipe\sidetone-agent-`

// pipeBuffer is how many bytes the pipe takes in each direction while the other end does not
// read.
const pipeBuffer = 64 << 10

// ControlAddress is the name of the control pipe, which has the user's SID in it.
func ControlAddress(func(string) string) (string, error) {
	sid := CurrentUser()
	if sid == "" {
		return "", errors.New("name of the control pipe: Windows does not say who this user is")
	}
	return pipePrefix + sid, nil
}

// ListenControl opens the pipe at address for this user alone, after it has taken the lock file
// in the user's local application data: *ErrRunning means that another agent has it. Close
// gives it back. Windows keeps other users out by the pipe's access list, and other machines
// by its kind.
func ListenControl(address string) (net.Listener, error) {
	lock, err := controlLockFile(address)
	if err != nil {
		return nil, err
	}
	held, err := lockAgent(lock, 0)
	if err != nil {
		return nil, err
	}
	l, err := winio.ListenPipe(address, &winio.PipeConfig{
		SecurityDescriptor: fmt.Sprintf("D:P(D;;GA;;;NU)(A;;GA;;;%s)", CurrentUser()),
		InputBufferSize:    pipeBuffer,
		OutputBufferSize:   pipeBuffer,
	})
	if err != nil {
		_ = held.Unlock()
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: another program has a pipe of this name; end it", err)
		}
		return nil, fmt.Errorf("control pipe %s: %w", address, err)
	}
	return &controlListener{l, sync.OnceValue(func() error { return errors.Join(l.Close(), held.Unlock()) })}, nil
}

// controlLockFile is the lock file that belongs to the pipe at address, in a folder that is
// made if it is missing. Only this user, the system and administrators may write there.
func controlLockFile(address string) (string, error) {
	data, err := windows.KnownFolderPath(windows.FOLDERID_LocalAppData, 0)
	if err != nil {
		return "", fmt.Errorf("folder of the lock file: %w", err)
	}
	folder := filepath.Join(data, "Sidetone")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("folder of the lock file: %w", err)
	}
	name := strings.TrimPrefix(address, `\\.\pipe\`)
	if name == address || strings.ContainsAny(name, `\/:`) {
		return "", fmt.Errorf(`control pipe %s: want \\.\pipe\ and a name`, address)
	}
	return filepath.Join(folder, name+".lock"), nil
}

type controlListener struct {
	net.Listener
	close func() error
}

// Close gives back the lock.
func (l *controlListener) Close() error { return l.close() }

// lockHolder is unknown: Windows lets nobody read a file that is locked.
func lockHolder(string) int { return 0 }

func lockError(err error) error { return err }

// DialControl connects to the agent of this user at address, and to nobody else: it closes a
// connection to a process of another user. It takes 5 s at most if ctx has no deadline.
// fs.ErrNotExist means that no agent runs. The agent cannot act in this program's name.
func DialControl(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, address)
	if err != nil {
		var open *fs.PathError
		if errors.As(err, &open) {
			err = open.Err // without the path
		}
		return nil, fmt.Errorf("control pipe %s: %w", address, err)
	}
	pipe, ok := conn.(interface{ Fd() uintptr })
	if !ok || pipeOwner(windows.Handle(pipe.Fd())).UID != CurrentUser() {
		conn.Close()
		return nil, fmt.Errorf("control pipe %s: the process that listens there belongs to another user", address)
	}
	return conn, nil
}
