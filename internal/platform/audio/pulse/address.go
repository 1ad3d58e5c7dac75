package pulse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Places are where the sound server and its cookie are looked for, in the order of PulseAudio's own library. A place that is empty is not
// looked at: which ones a machine has is for the program to say.
type Places struct {
	Setting string              // a list like $PULSE_SERVER, instead of all others; "": none
	Getenv  func(string) string // the user's environment; nil: nothing is set
	Etc     string              // the folder of the administrator's pulse/client.conf
	Run     string              // the folder of pulse/native, the socket of a server for all users
}

// A Location is what Places lead to now.
type Location struct {
	Sockets    []string // paths to try, best first; they need not exist
	Configured bool     // the setting, $PULSE_SERVER or something in a client.conf is set, whatever it says
	Cookie     []byte   // the authentication cookie; zeros if there is none: the server accepts its own user without it
	Unread     error    // a client.conf that is there and cannot be read; it may have said something else
}

// Find returns the sockets that the first of these names: the setting, $PULSE_SERVER, default-server of client.conf; else those of the
// user's own server ($PULSE_RUNTIME_PATH/native or $XDG_RUNTIME_DIR/pulse/native) and of one for all users. A server on another machine
// is refused, since its devices are not plugged in here.
func (p Places) Find() (Location, error) {
	conf, unread := p.clientConf()
	setting, variable := strings.TrimSpace(p.Setting), strings.TrimSpace(p.Env("PULSE_SERVER"))
	at := Location{Configured: conf.sets || setting+variable != "", Cookie: p.cookie(conf.cookie), Unread: unread}
	var err error
	switch {
	case setting != "":
		at.Sockets, err = fromServerList(setting, "the setting sources.pulse_server", machineID)
	case variable != "":
		at.Sockets, err = fromServerList(variable, "PULSE_SERVER", machineID)
	case conf.server != "":
		at.Sockets, err = fromServerList(conf.server, conf.path, machineID)
	default:
		at.Sockets, err = p.standard()
	}
	return at, err
}

// Env returns a variable of the user's environment.
func (p Places) Env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

// standard returns the sockets of servers that nothing names.
func (p Places) standard() (sockets []string, err error) {
	if dir := p.Env("PULSE_RUNTIME_PATH"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "native"))
	} else if dir := p.Env("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "pulse", "native"))
	}
	if p.Run != "" {
		shared := filepath.Join(p.Run, "pulse", "native")
		if _, err := os.Stat(shared); err == nil || len(sockets) > 0 {
			return append(sockets, shared), nil
		}
	}
	if len(sockets) == 0 {
		return nil, errors.New("pulse: no sound server address: " +
			"set XDG_RUNTIME_DIR (a login session does) or PULSE_SERVER=unix:/path/of/socket")
	}
	return sockets, nil
}

// fromServerList returns the local entries of a list that origin has.
func fromServerList(list, origin string, machineID func() string) (paths []string, err error) {
	var refused []string
	for _, entry := range strings.Fields(list) {
		path, err := localPath(entry, machineID)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("pulse: %s names no sound server of this machine: %s; "+
			"remove that or write unix:/path/of/socket", origin, strings.Join(refused, "; "))
	}
	return paths, nil
}

// localPath returns the socket path of one entry: [{machine-id}][unix:]/path.
func localPath(entry string, machineID func() string) (string, error) {
	path := entry
	if strings.HasPrefix(entry, "{") {
		id, rest, ok := strings.Cut(entry[1:], "}")
		if !ok {
			return "", fmt.Errorf("%q lacks a closing brace", entry)
		}
		if id != machineID() {
			return "", fmt.Errorf("%q is for another machine", entry)
		}
		path = rest
	}
	path = strings.TrimPrefix(path, "unix:")
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q is not a unix socket, and a network server's devices are not plugged in here", entry)
	}
	return path, nil
}

// machineID returns the id that marks entries for this machine, found as by PulseAudio's own library.
func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(path); err == nil {
			if id := strings.TrimSpace(string(b)); id != "" {
				return id
			}
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return host
}

const cookieSize = 256

// cookie returns the content of the file $PULSE_COOKIE, else of the one that client.conf names, else of the user's.
func (p Places) cookie(configured string) []byte {
	for _, path := range p.cookiePaths(configured) {
		if cookie, err := readFile(path, cookieSize); err == nil && len(cookie) == cookieSize {
			return cookie
		}
	}
	return make([]byte, cookieSize)
}

func (p Places) cookiePaths(configured string) []string {
	if path := p.Env("PULSE_COOKIE"); path != "" {
		return []string{path}
	}
	var folders []string
	if dir := p.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		folders = append(folders, filepath.Join(dir, "pulse"))
	}
	home := p.Env("HOME")
	if home != "" {
		folders = append(folders, filepath.Join(home, ".config", "pulse"))
	}
	var paths []string
	if filepath.IsAbs(configured) {
		paths = append(paths, configured)
	} else if configured != "" && len(folders) > 0 {
		paths = append(paths, filepath.Join(folders[0], configured))
	}
	for _, folder := range folders {
		paths = append(paths, filepath.Join(folder, "cookie"))
	}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".pulse-cookie"))
	}
	return paths
}

// readFile returns the first bytes of a regular file, at most limit.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
