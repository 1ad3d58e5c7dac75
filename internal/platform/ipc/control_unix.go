//go:build linux || darwin

package ipc

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"sidetone/internal/local"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/session"
)

const controlLock = "agent.lock"

// agentAddresses finds the control sockets of all vendors, by vendor. Some may be stale.
func agentAddresses(getenv func(string) string) (map[string]string, error) {
	folder, err := paths.AgentsFolder(getenv)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for agents in %s: %w", folder, files.Cause(err))
	}
	found := map[string]string{}
	for _, e := range entries {
		address := filepath.Join(folder, e.Name(), paths.ControlSocket)
		if info, err := os.Lstat(address); err == nil && info.Mode()&fs.ModeSocket != 0 {
			found[e.Name()] = address
		}
	}
	return found, nil
}

// lockName is the name of the lock file of a client id.
func lockName(clientID string) (string, error) { return clientID + lockSuffix, nil }

// announced is the fsnotify event of a file whose time was set.
const announced = fsnotify.Chmod

// lockFlags are additional flags for opening a lock file.
const lockFlags = unix.O_NOFOLLOW

// ListenControl opens the socket at address for this user alone, after it has taken the lock file beside it. *ErrRunning means that
// another agent holds the lock. A stale socket is replaced. The last folder of address is made if it is missing; it must belong to this
// user, and nobody else may write to it.
//
// A connection of another user, even root, is closed without a byte. Close removes the socket and releases the lock.
func ListenControl(address string) (net.Listener, error) {
	if !filepath.IsAbs(address) {
		return nil, fmt.Errorf("control socket %s: not an absolute path", address)
	}
	if len(address) > maxSocketPath {
		return nil, fmt.Errorf("control socket %s: a socket's path has at most %d bytes, this has %d: set XDG_RUNTIME_DIR to a shorter one",
			address, maxSocketPath, len(address))
	}
	folder := filepath.Dir(address)
	if err := privateFolder(folder); err != nil {
		return nil, err
	}
	lock, err := lockAgent(filepath.Join(folder, controlLock))
	if err != nil {
		return nil, err
	}
	l, err := listenControl(address, lock)
	if err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return l, nil
}

// listenControl opens the socket for the holder of the lock.
func listenControl(address string, lock *flock.Flock) (net.Listener, error) {
	if err := removeStale(address); err != nil {
		return nil, err
	}
	writePID(lock)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", address, err)
	}
	l.SetUnlinkOnClose(false) // Close checks first that it is still this one
	// Until here the mode of the folder has kept others out.
	err = os.Chmod(address, 0o600)
	info, statErr := os.Lstat(address)
	if err := errors.Join(err, statErr); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	c := &controlListener{UnixListener: l, user: session.User()}
	c.close = sync.OnceValue(func() error {
		now, err := os.Lstat(address)
		if err == nil && os.SameFile(info, now) {
			_ = os.Remove(address) // if it fails, the next start replaces it
		}
		err = l.Close()
		_ = os.Truncate(lock.Path(), 0)
		return errors.Join(err, lock.Unlock())
	})
	return c, nil
}

// controlListener accepts connections of one user.
type controlListener struct {
	*net.UnixListener
	user  string
	close func() error
}

// Accept returns the next connection of that user.
func (l *controlListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		peer, err := peerOfConn(conn)
		if err == nil && peer.UID == l.user {
			return controlConn{conn, peer.PID}, nil
		}
		conn.Close()
	}
}

// controlConn is a connection that knows the process of its peer.
type controlConn struct {
	*net.UnixConn
	pid int
}

// PeerPID returns that process, or 0 if it is unknown.
func (c controlConn) PeerPID() int { return c.pid }

// Close removes the socket and releases the lock.
func (l *controlListener) Close() error { return l.close() }

func peerOfConn(conn *net.UnixConn) (peer local.Process, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer, err
	}
	return peer, raw.Control(func(fd uintptr) { peer = peerOf(int(fd)) })
}

// privateFolder makes folder if it is missing, and ensures that it belongs to this user and nobody else can write to it or replace it:
// then this user has made everything in it.
func privateFolder(folder string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("folder of the control socket %s: %s", folder, fmt.Sprintf(format, args...))
	}
	parent, err := os.Stat(filepath.Dir(folder))
	if err != nil {
		return refuse("%v: make it, or set XDG_RUNTIME_DIR to a folder of this user's own", err)
	}
	if owner := files.OwnerOf(parent); owner != os.Geteuid() && owner != 0 {
		return refuse("the folder above it belongs to another user (uid %d): set XDG_RUNTIME_DIR to a folder of this user's own", owner)
	}
	if parent.Mode()&0o022 != 0 && parent.Mode()&fs.ModeSticky == 0 {
		return refuse("others may write to the folder above it: forbid it (chmod go-w %s)", filepath.Dir(folder))
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return refuse("%v", files.Cause(err))
	}
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return refuse("it is a link or a file: remove it")
	case err != nil:
		return refuse("%v: it must belong to this user", err)
	}
	opened := os.NewFile(uintptr(fd), folder)
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return refuse("%v", files.Cause(err))
	case files.OwnerOf(info) != os.Geteuid():
		return refuse("it belongs to another user (uid %d): have it removed, or set XDG_RUNTIME_DIR to a folder of this user's own",
			files.OwnerOf(info))
	case info.Mode()&0o022 != 0:
		return refuse("others may write to it, so that what is in it cannot be trusted: remove it")
	}
	if info.Mode() == fs.ModeDir|0o700 {
		return nil // whoever waits for a lock checks often, and each write wakes those who watch the folder
	}
	if err := opened.Chmod(0o700); err != nil {
		return refuse("%v", files.Cause(err))
	}
	return nil
}

// removeStale removes the socket of an agent that has ended. A free lock does not prove that nobody listens: a clean-up of old files may
// have removed the file that was locked.
func removeStale(address string) error {
	info, err := os.Lstat(address)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("control socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("control socket %s: there is something else in its place (%v): remove it", address, info.Mode())
	}
	ctx, cancel := dialContext(context.Background())
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	running := &ErrRunning{Lock: filepath.Join(filepath.Dir(address), controlLock)}
	switch {
	case err == nil:
		defer conn.Close()
		peer, _ := peerOfConn(conn.(*net.UnixConn)) // its pid is reported if known
		running.PID = peer.PID
		return running
	case errors.Is(err, syscall.EAGAIN): // its queue is full
		return running
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("control socket %s: %w", address, err)
	}
	if err := os.Remove(address); err != nil {
		return fmt.Errorf("control socket of an agent that has ended: %w", err)
	}
	return nil
}

// writePID writes this process's pid into a lock file that it holds. It is only for people: a failure, as on a full disk, does not
// matter.
func writePID(lock *flock.Flock) {
	file, err := os.OpenFile(lock.Path(), os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintln(file, os.Getpid())
	_ = file.Close()
}

// lockHolder reads the pid from a lock file that somebody holds, or returns 0. It reads once and does not block, since it may be no file:
// a pipe would never end.
func lockHolder(path string) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	text := make([]byte, 32)
	n, err := unix.Read(fd, text)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

func lockError(err error) error {
	err = files.Cause(err)
	switch {
	case errors.Is(err, unix.ELOOP):
		return errors.New("it is a link: remove it")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EISDIR):
		return fmt.Errorf("%w: remove it", err)
	}
	return err
}

// DialControl connects to the agent of this user at address. It closes a connection to a process of another user. It takes 5 s at most if
// ctx has no deadline. fs.ErrNotExist and syscall.ECONNREFUSED mean that no agent runs.
func DialControl(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	if !filepath.IsAbs(address) {
		return nil, fmt.Errorf("control socket %s: not an absolute path", address)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		err = withoutPath(err)
		if errors.Is(err, syscall.EAGAIN) {
			err = fmt.Errorf("%w: the agent has more connections waiting than it takes; try again, and if it stays so, restart it", err)
		}
		return nil, fmt.Errorf("control socket %s: %w", address, err)
	}
	peer, err := peerOfConn(conn.(*net.UnixConn))
	if err == nil && peer.UID != session.User() {
		err = fmt.Errorf("the process that listens there belongs to another user (uid %s): run this as that user", peer.UID)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("control socket %s: %w", address, err)
	}
	return conn, nil
}

// trayLockFile returns the path of the lock file in the folder of the agent's socket, which is made if it is missing.
func trayLockFile(address, session string) (string, error) {
	if !filepath.IsAbs(address) {
		return "", fmt.Errorf("control socket %s: not an absolute path", address)
	}
	vendor := filepath.Dir(address)
	if parent := filepath.Dir(vendor); filepath.Base(parent) == "sidetone" {
		if err := privateFolder(parent); err != nil {
			return "", err
		}
	}
	if err := privateFolder(vendor); err != nil {
		return "", err
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(session))
	return filepath.Join(vendor, fmt.Sprintf("tray-%08x.lock", name.Sum32())), nil
}
