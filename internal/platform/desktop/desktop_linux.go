package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"sidetone/internal/platform/files"
)

const (
	// copyTimeout is how long the clipboard program may take.
	copyTimeout = 5 * time.Second
	// SystemAutostart is the folder of autostart entries for all users.
	SystemAutostart = "/etc/xdg/autostart"
)

// Open shows a file in the user's program for its type. It returns when xdg-open was started, and calls ended if that fails later.
func (d Desktop) Open(path string, ended func(error)) error {
	cmd := exec.Command("xdg-open", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it may become a browser, which must outlive this program
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("show %s: %w: install xdg-utils, or open the file yourself", path, err)
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			ended(fmt.Errorf("xdg-open %s: %w", path, err))
		}
	}()
	return nil
}

// Copy puts a text into the clipboard with a program that keeps it there. exec.ErrNotFound means that there is no such program.
func (d Desktop) Copy(ctx context.Context, text []byte) error {
	var cmd []string
	switch {
	case d.Getenv("WAYLAND_DISPLAY") != "":
		cmd = []string{"wl-copy"}
	case d.Getenv("DISPLAY") != "":
		cmd = []string{"xclip", "-selection", "clipboard"}
	default:
		return fmt.Errorf("copy to the clipboard: no display: %w", exec.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	copying := exec.CommandContext(ctx, cmd[0], cmd[1:]...)
	copying.Stdin = bytes.NewReader(text)
	if err := copying.Run(); err != nil {
		return fmt.Errorf("copy to the clipboard by %s: %w", cmd[0], err)
	}
	return nil
}

func (d Desktop) config() string {
	if folder := d.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(d.Getenv("HOME"), ".config")
}

// AutostartFile returns the path of this user's autostart file for an entry, whether or not it exists.
func (d Desktop) AutostartFile(e Entry) string {
	return filepath.Join(d.config(), "autostart", e.ID+".desktop")
}

// hidden matches the line by which a user's own file disables a package's entry.
var hidden = regexp.MustCompile(`(?m)^Hidden\s*=\s*true\s*$`)

// Autostarts reports whether the program is started at log-in.
func (d Desktop) Autostarts(e Entry) bool {
	for _, path := range []string{d.AutostartFile(e), filepath.Join(SystemAutostart, e.ID+".desktop")} {
		if file, err := os.ReadFile(path); err == nil {
			return !hidden.Match(file)
		}
	}
	return false
}

// SetAutostart enables or disables the start of the program at log-in.
func (d Desktop) SetAutostart(e Entry, on bool) error {
	path := d.AutostartFile(e)
	_, err := os.Stat(filepath.Join(SystemAutostart, e.ID+".desktop"))
	if !on && errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("start at log-in: %w", err)
		}
		return nil
	}
	text := e.File()
	if !on {
		text += "Hidden=true\n"
	}
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = files.Replace(path, []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("start at log-in: %w", err)
	}
	return nil
}
