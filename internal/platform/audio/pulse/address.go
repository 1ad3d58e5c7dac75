package pulse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Address returns the path of the user's sound server socket: the first usable entry of $PULSE_SERVER, else $PULSE_RUNTIME_PATH/native,
// else $XDG_RUNTIME_DIR/pulse/native. The socket need not exist. A server on another machine is refused, since its devices are not
// plugged in here.
func Address(getenv func(string) string) (string, error) {
	return address(getenv, machineID, exists)
}

func address(getenv func(string) string, machineID func() string, exists func(string) bool) (string, error) {
	if servers := strings.Fields(getenv("PULSE_SERVER")); len(servers) > 0 {
		return fromServerList(servers, machineID, exists)
	}
	if dir := getenv("PULSE_RUNTIME_PATH"); dir != "" {
		return path.Join(dir, "native"), nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return path.Join(dir, "pulse", "native"), nil
	}
	return "", errors.New("pulse: no sound server address: " +
		"set XDG_RUNTIME_DIR (a login session does) or PULSE_SERVER=unix:/path/of/socket")
}

// fromServerList returns the first local entry whose socket exists, else the first local entry.
func fromServerList(servers []string, machineID func() string, exists func(string) bool) (string, error) {
	var paths, refused []string
	for _, entry := range servers {
		path, err := localPath(entry, machineID)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		if exists(path) {
			return path, nil
		}
		paths = append(paths, path)
	}
	if len(paths) > 0 {
		return paths[0], nil
	}
	return "", fmt.Errorf("pulse: PULSE_SERVER names no sound server of this machine: %s; "+
		"unset it or set it to unix:/path/of/socket", strings.Join(refused, "; "))
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const cookieSize = 256

// LoadCookie returns the authentication cookie: the file $PULSE_COOKIE, else the one in the user's configuration folder, else zeros. The
// server accepts its own user without the right cookie, so a missing or unreadable file is no error.
func LoadCookie(getenv func(string) string) []byte {
	for _, path := range cookiePaths(getenv) {
		if cookie, err := readCookie(path); err == nil {
			return cookie
		}
	}
	return make([]byte, cookieSize)
}

func cookiePaths(getenv func(string) string) []string {
	if path := getenv("PULSE_COOKIE"); path != "" {
		return []string{path}
	}
	var paths []string
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, "pulse", "cookie"))
	}
	if home := getenv("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".config", "pulse", "cookie"), filepath.Join(home, ".pulse-cookie"))
	}
	return paths
}

func readCookie(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, os.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cookie := make([]byte, cookieSize)
	if _, err := io.ReadFull(f, cookie); err != nil {
		return nil, err
	}
	return cookie, nil
}
