package desktop

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/installation"
)

// RunKey is a registry key of programs that Windows starts at log-in, of one user or of all.
type RunKey struct {
	root registry.Key
	name string
}

// The Run keys of this user and of all users. Only administrators can write to the latter.
var (
	RunOfUser = RunKey{registry.CURRENT_USER, "HKCU"}
	RunOfAll  = RunKey{registry.LOCAL_MACHINE, "HKLM"}
)

const (
	runPath = `Software\Microsoft\Windows\CurrentVersion\Run`
	// approvedPath has what the user has set for each value in the Task Manager or the settings: the first byte is odd if it is disabled.
	approvedPath = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
)

// Path returns the full name of a value.
func (k RunKey) Path(value string) string { return k.name + `\` + runPath + `\` + value }

// Command returns the command line of a value, or "".
func (k RunKey) Command(value string) (string, error) {
	key, err := registry.OpenKey(k.root, runPath, registry.QUERY_VALUE)
	if err == nil {
		defer key.Close()
		var command string
		if command, _, err = key.GetStringValue(value); err == nil {
			return command, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return "", fmt.Errorf("read %s: %w", k.Path(value), err)
}

// Read returns the command line of a value as own if it starts that program, as foreign if it starts another; both are "" if there is
// none.
func (k RunKey) Read(value, program string) (own, foreign string, err error) {
	line, err := k.Command(value)
	if err != nil || line == "" {
		return "", "", err
	}
	words, err := windows.DecomposeCommandLine(line)
	if err != nil || len(words) == 0 || installation.IsOther(words[0], program) {
		return "", line, nil
	}
	return line, "", nil
}

// Starts reports whether a value starts that program, and the user has not disabled it in Windows.
func (k RunKey) Starts(value, program string) bool {
	own, _, err := k.Read(value, program)
	return err == nil && own != "" && !k.SwitchedOff(value)
}

// SwitchedOff reports whether the user has disabled a value in Windows.
func (k RunKey) SwitchedOff(value string) bool {
	key, err := registry.OpenKey(k.root, approvedPath, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer key.Close()
	said, _, err := key.GetBinaryValue(value)
	return err == nil && len(said) > 0 && said[0]&1 == 1
}

// maxRunCommand is Windows' limit for a command line there, in characters.
const maxRunCommand = 260

// Set registers a command line. Whether the user has disabled it in Windows does not change.
func (k RunKey) Set(value, command string) error {
	if n := len([]rune(command)); n > maxRunCommand {
		return fmt.Errorf("write %s: Windows takes a command line of at most %d characters, this one has %d: "+
			"install the program in a folder with a shorter name, or keep settings in the settings file", k.Path(value), maxRunCommand, n)
	}
	key, _, err := registry.CreateKey(k.root, runPath, registry.SET_VALUE)
	if err == nil {
		defer key.Close()
		err = key.SetStringValue(value, command)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", k.Path(value), err)
	}
	return nil
}

// Remove removes a value, and what the user has set for it. A missing value is no error.
func (k RunKey) Remove(value string) error {
	for _, path := range []string{runPath, approvedPath} {
		if err := k.removeFrom(path, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", k.Path(value), err)
		}
	}
	return nil
}

func (k RunKey) removeFrom(path, value string) error {
	key, err := registry.OpenKey(k.root, path, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	return key.DeleteValue(value)
}
