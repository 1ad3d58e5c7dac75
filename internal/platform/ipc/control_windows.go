package ipc

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
	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
	"golang.org/x/sys/windows"

	"sidetone/internal/local"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/session"
	"sidetone/internal/winpipe"
)

// pipeBuffer is how many bytes the pipe takes in each direction while the other end does not
// read.
const pipeBuffer = 64 << 10

// agentAddresses finds the control pipes of all vendors of this user and session, by vendor, by their lock files. Not every one must
// have an agent that listens.
func agentAddresses(func(string) string) (map[string]string, error) {
	suffix, err := paths.PipeSuffix()
	if err != nil {
		return nil, err
	}
	folder, err := paths.AgentsFolder(nil)
	if err != nil {
		return nil, err
	}
	locks, err := filepath.Glob(filepath.Join(folder, paths.PipePrefix+"*"+suffix+lockSuffix))
	found := map[string]string{}
	for _, lock := range locks {
		address := paths.Pipes + strings.TrimSuffix(filepath.Base(lock), lockSuffix)
		found[paths.VendorOf(address)] = address
	}
	return found, err
}

// lockName is the name of a lock file for a client id. The client of another session of this user is
// another agent's.
func lockName(clientID string) (string, error) {
	session, err := session.ID()
	return clientID + "-" + session + lockSuffix, err
}

// announced is what fsnotify says of a file whose time was set.
const announced = fsnotify.Write

// privateFolder makes folder if it is missing. Only this user, the system and administrators may
// write there.
func privateFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("folder of the lock file: %w", err)
	}
	return nil
}

// lockFlags are further flags for opening a lock file.
const lockFlags = 0

// writePID does nothing: Windows lets nobody read a file that is locked.
func writePID(*flock.Flock) {}

// controlSecurity lets the user in, but not over a network, nor programs that the system trusts less than what users start, as in sandboxes.
// The owner is the user also where the agent runs as administrator: clients go by it.
func controlSecurity(user string) string {
	return "O:" + user + "D:P(D;;GA;;;NU)(A;;GA;;;" + user + ")S:(ML;;NW;;;ME)"
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
	l, err := winpipe.Listen(address, winio.PipeConfig{
		SecurityDescriptor: controlSecurity(session.User()),
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
	folder, err := paths.AgentsFolder(nil)
	if err != nil {
		return "", err
	}
	if err := privateFolder(folder); err != nil {
		return "", err
	}
	name := strings.TrimPrefix(address, paths.Pipes)
	if name == address || strings.ContainsAny(name, `\/:`) {
		return "", fmt.Errorf(`control pipe %s: want \\.\pipe\ and a name`, address)
	}
	return filepath.Join(folder, name+lockSuffix), nil
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

// DialControl connects to the agent of this user and session at address, and to nobody else: it closes a
// connection to any other process before a byte is written. It takes 5 s at most if ctx has no deadline.
// fs.ErrNotExist means that no agent runs. The agent cannot act in this program's name.
func DialControl(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("control pipe %s: %w", address, withoutPath(err))
	}
	pipe, ok := conn.(interface{ Fd() uintptr })
	err = errors.New("it is no pipe")
	if ok {
		err = notMine(pipeOwner(windows.Handle(pipe.Fd())), session.User())
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("control pipe %s: %w", address, err)
	}
	return conn, nil
}

// notMine says why p, which listens on a pipe, is not the agent of the user me and this session; nil: it may be.
func notMine(p local.Process, me string) error {
	switch {
	case p.Denied:
		return fmt.Errorf("the process that listens there (%d) runs as administrator or belongs to another user: end it", p.PID)
	case p.UID != me || me == "":
		return fmt.Errorf("the process that listens there (%d) belongs to another user: have that user end it", p.PID)
	case p.OtherSession:
		return fmt.Errorf("the process that listens there (%d) runs in another session: end it", p.PID)
	}
	return nil
}
