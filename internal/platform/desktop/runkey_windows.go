package desktop

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/installation"
)

// RunKey is where the registry says what Windows starts at log-in, of one user or of all of them.
type RunKey struct {
	root registry.Key
	name string
}

// The Run keys of this user and of all. The latter belongs to the administrators.
var (
	RunOfUser = RunKey{registry.CURRENT_USER, "HKCU"}
	RunOfAll  = RunKey{registry.LOCAL_MACHINE, "HKLM"}
)

const (
	runPath = `Software\Microsoft\Windows\CurrentVersion\Run`
	// approvedPath has what the user has said of each in the task manager or the settings of Windows, in numbers of which the
	// first is odd where it is not to be started.
	approvedPath = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
)

// Path is the whole name of a value.
func (k RunKey) Path(value string) string { return k.name + `\` + runPath + `\` + value }

// Command is the command line of a value; "": there is none.
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

// Read is Command of a value that starts that program, or of one that starts another; "": there is none.
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

// Starts reports whether there is a value that starts that program, and this user has not switched it off in Windows.
func (k RunKey) Starts(value, program string) bool {
	own, _, err := k.Read(value, program)
	return err == nil && own != "" && !k.SwitchedOff(value)
}

// SwitchedOff reports whether the user has said in Windows that it is not to be started.
func (k RunKey) SwitchedOff(value string) bool {
	key, err := registry.OpenKey(k.root, approvedPath, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer key.Close()
	said, _, err := key.GetBinaryValue(value)
	return err == nil && len(said) > 0 && said[0]&1 == 1
}

// maxRunCommand is how long Windows lets a command line be there, in characters.
const maxRunCommand = 260

// Set has a command line started at log-in. What the user has said of it in Windows stays.
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

// Remove takes a value away, and what the user has said of it. It does nothing where there is none.
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
