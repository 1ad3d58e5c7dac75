package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Version is the name and version of the system: "Windows 10.0.19045".
func Version() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

// Exec lets another program take the place of this one: it waits for that, and ends as that has ended. It returns only if that has failed.
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

// Spawn starts another program in place of this one, which is to end then: nobody waits for it.
func Spawn(path string, args []string) error {
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives this program
	Hide(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// Hide keeps a program that is one for consoles from opening one, where this program has none.
func Hide(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }

// LoadDLLsOfSystemOnly has a DLL that is asked for by its name looked for in the system's folder, and neither in the program's nor in the
// present one, where anybody may have put another of that name. Programs begin with it, before anything loads one.
func LoadDLLsOfSystemOnly() {
	_ = windows.SetDefaultDllDirectories(windows.LOAD_LIBRARY_SEARCH_SYSTEM32) // only Windows 7 lacks it, where nothing of this runs
}

// Languages are those that the user prefers, the best first, as BCP 47 tags.
func Languages() []string {
	list, err := windows.GetUserPreferredUILanguages(windows.MUI_LANGUAGE_NAME)
	if err != nil {
		return nil // English it is
	}
	return list
}
