package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Version returns the name and version of the system: "Windows 10.0.19045".
func Version() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

// Exec runs another program in place of this one: it waits for it, and exits with its exit code. It returns only if the program could not
// be started.
func Exec(path string, args []string) error {
	cmd := exec.Command(path, args...) //nolint:noctx // it lives as long as this program
	Hide(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// Spawn starts another program in place of this one, which should end then. It does not wait for that program.
func Spawn(path string, args []string) error {
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives this program
	Hide(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// Hide keeps a console program from opening a console if this program has none.
func Hide(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }

// LoadDLLsOfSystemOnly has DLLs that are loaded by name searched only in the system's folder, and neither in the program's nor in the
// current one, where anybody may have put another DLL of that name. Programs call it first, before anything loads a DLL.
func LoadDLLsOfSystemOnly() {
	_ = windows.SetDefaultDllDirectories(windows.LOAD_LIBRARY_SEARCH_SYSTEM32) // only Windows 7 lacks it, which is not supported
}

// Languages returns the user's preferred languages, best first, as BCP 47 tags.
func Languages() []string {
	list, err := windows.GetUserPreferredUILanguages(windows.MUI_LANGUAGE_NAME)
	if err != nil {
		return nil // English is the default
	}
	return list
}
