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
	"time"

	"github.com/Microsoft/go-winio"
	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
	"golang.org/x/sys/windows"

	"sidetone/internal/local"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/session"
	"sidetone/internal/winpipe"
)

// pipeBuffer is how many bytes the pipe buffers in each direction.
const pipeBuffer = 64 << 10

// agentAddresses finds the control pipes of all vendors of this user and session by their lock files, by vendor. Some may be stale.
func agentAddresses(func(string) string) (map[string]string, error) {
	suffix, err := paths.PipeSuffix()
	if err != nil {
		return nil, err
	}
	folder, err := paths.AgentsFolder(nil)
	if err != nil {
		return nil, err
	}
	return lockedPipes(folder, suffix)
}

// lockedPipes finds a session's control pipes by the lock files in a folder. File names may contain any character.
func lockedPipes(folder, suffix string) (map[string]string, error) {
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	found := map[string]string{}
	for _, f := range files {
		name, isLock := strings.CutSuffix(f.Name(), suffix+lockSuffix)
		if vendor, ours := strings.CutPrefix(name, paths.PipePrefix); isLock && ours {
			found[vendor] = paths.Pipes + name + suffix
		}
	}
	return found, err
}

// lockName is the name of the lock file of a client id. Each session of a user has its own client, and its own agent.
func lockName(clientID string) (string, error) {
	session, err := session.ID()
	return clientID + "-" + session + lockSuffix, err
}

// announced is the fsnotify event of a file whose time was set.
const announced = fsnotify.Write

// privateFolder makes folder if it is missing. In the user's profile only this user, the system and administrators may write.
func privateFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("folder of the lock file: %w", err)
	}
	return nil
}

// lockFlags are additional flags for opening a lock file.
const lockFlags = 0

// writePID does nothing: Windows does not let anybody read a locked file.
func writePID(*flock.Flock) {}

// controlSecurity admits the user, but neither over a network nor programs of lower integrity than those that users start, such as
// sandboxes. The user is the owner even if the agent runs as administrator: clients check the owner.
func controlSecurity(user string) string {
	return "O:" + user + "D:P(D;;GA;;;NU)(A;;GA;;;" + user + ")S:(ML;;NW;;;ME)"
}

// nameTimeout is how long programs that have not noticed the end of an agent may keep its pipe's name taken.
const nameTimeout = 2 * time.Second

// ListenControl opens the pipe at address for this user alone, after it has taken the lock file in the user's local application data.
// *ErrRunning means that another agent holds the lock. Close releases it. The pipe's access list keeps out other users and other
// machines.
func ListenControl(address string) (net.Listener, error) {
	lock, err := controlLockFile(address)
	if err != nil {
		return nil, err
	}
	held, err := lockAgent(lock)
	if err != nil {
		return nil, err
	}
	l, err := listenPipe(address)
	for limit := time.Now().Add(nameTimeout); errors.Is(err, fs.ErrPermission) && time.Now().Before(limit); l, err = listenPipe(address) {
		<-time.After(nameTimeout / 100)
	}
	if err != nil {
		_ = held.Unlock()
		return nil, err
	}
	l.lock = held
	announceListening(address)
	return l, nil
}

// listenPipe opens a pipe for this user alone.
func listenPipe(address string) (*controlListener, error) {
	l, err := winpipe.Listen(address, winio.PipeConfig{
		SecurityDescriptor: controlSecurity(session.User()),
		InputBufferSize:    pipeBuffer,
		OutputBufferSize:   pipeBuffer,
	})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: another program has a pipe of this name; end it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("control pipe %s: %w", address, err)
	}
	return &controlListener{Listener: l}, nil
}

// controlLockFile returns the path of the lock file for the pipe at address. Its folder is made if it is missing.
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

// controlListener holds a lock.
type controlListener struct {
	net.Listener
	lock *flock.Flock
}

// Accept returns the next connection.
func (l *controlListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := controlConn{Conn: conn}
	_ = windows.GetNamedPipeClientProcessId(handleOf(conn), &c.pid)
	return c, nil
}

// Close releases the lock.
func (l *controlListener) Close() error {
	return errors.Join(l.Listener.Close(), l.lock.Unlock())
}

// controlConn is a connection that knows the process of its peer.
type controlConn struct {
	net.Conn
	pid uint32
}

// PeerPID returns that process, or 0 if it is unknown.
func (c controlConn) PeerPID() int { return int(c.pid) }

// lockHolder returns 0: Windows does not let anybody read a locked file.
func lockHolder(string) int { return 0 }

func lockError(err error) error { return err }

// DialControl connects to the agent of this user and session at address. It closes a connection to any other process before it writes a
// byte. It takes 5 s at most if ctx has no deadline. fs.ErrNotExist means that no agent runs. The agent cannot impersonate this program.
func DialControl(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("control pipe %s: %w", address, withoutPath(err))
	}
	if err := checkPipeOwner(pipeOwner(conn), session.User()); err != nil {
		conn.Close()
		return nil, fmt.Errorf("control pipe %s: %w", address, err)
	}
	return conn, nil
}

// checkPipeOwner returns why p, which listens on a pipe, is not an agent of the user me in this session, or nil if it may be one.
func checkPipeOwner(p local.Process, me string) error {
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

// trayLockFile returns the path of the lock file beside the agent's, whose name contains the session.
func trayLockFile(address, _ string) (string, error) {
	agent, err := controlLockFile(address)
	return filepath.Join(filepath.Dir(agent), "tray-"+filepath.Base(agent)), err
}
