package pulse

import (
	"io"
	"os"
	"path/filepath"
)

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
