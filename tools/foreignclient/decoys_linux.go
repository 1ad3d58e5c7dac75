package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// options say where to put decoys of clients, beside the folders that the environment names.
type options struct {
	ports   []int
	folders []string // of IPC sockets
}

// standard returns the defaults of the agent's settings.
func standard() options {
	var o options
	for port := 6463; port <= 6473; port++ {
		o.ports = append(o.ports, port)
	}
	o.folders = slices.Compact([]string{filepath.Clean(os.TempDir()), "/tmp"})
	return o
}

// Folders below the user's runtime folder in which clients have their sockets.
var sandboxes = []string{
	"app/com.discordapp.Discord", "app/com.discordapp.DiscordPTB", "app/com.discordapp.DiscordCanary", "snap.discord", "snap.discord-canary",
}

// Files that programs look for in a home. Opening one is noticed; what they hold would break a test that reads it.
var homeFiles = []string{
	".config/sidetone/config.yaml", ".config/pulse/cookie", ".config/pulse/client.conf", ".config/pipewire/client.conf",
	".pulse-cookie", ".asoundrc",
}

// decoys are the things that the command must not touch.
type decoys struct {
	root      string
	listeners []net.Listener
	home      *folderWatch
	serving   sync.WaitGroup

	unwatched []string // addresses that other programs use

	mu      sync.Mutex
	touched []string
}

func place(o options) (*decoys, error) {
	root, err := os.MkdirTemp("", "decoy")
	if err != nil {
		return nil, err
	}
	d := &decoys{root: root}
	if err := d.place(o); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *decoys) place(o options) (err error) {
	for _, name := range homeFiles {
		err = errors.Join(err, d.write("home/"+name, "this file is a decoy: tests have no business with it\n"))
	}
	// The Go command keeps its statistics in the settings' folder, or not at all.
	err = errors.Join(err, d.write("home/.config/go/telemetry/mode", "off"))
	for _, port := range o.ports {
		err = errors.Join(err, d.listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))))
	}
	sockets := []string{d.sound(), d.bus(), d.path("runtime/pipewire-0"), d.path("runtime/sidetone/acme/agent.sock")}
	folders := slices.Concat(o.folders, []string{d.path("runtime")})
	for _, name := range sandboxes {
		folders = append(folders, d.path("runtime/"+name))
	}
	for _, folder := range folders {
		for i := range 10 {
			sockets = append(sockets, filepath.Join(folder, fmt.Sprintf("discord-ipc-%d", i)))
		}
	}
	for _, path := range sockets {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), d.listen("unix", path))
	}
	if err != nil {
		return err
	}
	d.home, err = watchFolders([]string{d.path("home"), d.path("runtime")}, d.path("home/.config/go"), d.note)
	return err
}

func (d *decoys) path(name string) string { return filepath.Join(d.root, name) }
func (d *decoys) sound() string           { return d.path("runtime/pulse/native") }
func (d *decoys) bus() string             { return d.path("runtime/bus") }

func (d *decoys) write(name, text string) error {
	path := d.path(name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// environment leads programs to the decoys.
func (d *decoys) environment() []string {
	home := d.path("home")
	return []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local/share"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local/state"),
		"XDG_RUNTIME_DIR=" + d.path("runtime"),
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + d.bus(),
		"PULSE_SERVER=unix:" + d.sound(),
	}
}

// listen puts a decoy on an address. It leaves an address alone on which a program listens: a command that looks for clients tries
// the others, too. Like a client, it replaces a socket that a killed client has left behind.
func (d *decoys) listen(network, address string) error {
	l, err := net.Listen(network, address)
	if errors.Is(err, syscall.EADDRINUSE) && network == "unix" && abandoned(address) && os.Remove(address) == nil {
		l, err = net.Listen(network, address)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		d.unwatched = append(d.unwatched, address)
		return nil
	}
	if err != nil {
		return err
	}
	d.listeners = append(d.listeners, l)
	d.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.serving.Go(func() {
				defer conn.Close()
				d.note(fmt.Sprintf("%s: %s", address, firstWords(conn)))
			})
		}
	})
	return nil
}

func abandoned(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, patience)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

const patience = 200 * time.Millisecond // with a connection that has yet to send something

// firstWords describes who has connected, as far as that is known, and what they send first.
func firstWords(conn net.Conn) string {
	who := "a connection"
	if c, ok := conn.(*net.UnixConn); ok {
		who += peer(c)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	text := make([]byte, 200)
	n, _ := conn.Read(text)
	if n > 0 {
		who += fmt.Sprintf(", which says %q", text[:n])
	}
	return who
}

func peer(conn *net.UnixConn) string {
	raw, err := conn.SyscallConn()
	if err != nil {
		return ""
	}
	var pid int32
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = cred.Pid
		}
	})
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return fmt.Sprintf(" from process %d (%s)", pid, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))))
}

// note records something that was touched, once.
func (d *decoys) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.touched, what) {
		d.touched = append(d.touched, what)
	}
}

func (d *decoys) remove() []string {
	if d.home != nil {
		d.home.close()
	}
	for _, l := range d.listeners {
		_ = l.Close()
	}
	d.serving.Wait()
	if err := os.RemoveAll(d.root); err != nil {
		d.note(err.Error())
	}
	return d.touched
}
