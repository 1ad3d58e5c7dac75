package tray

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

const consoleEnv = "TRAY_TEST_CONSOLE"

// TestStartedAgentHasAConsoleThatNobodySees, and so have the console programs that it starts: a helper for each list of endpoints, and its
// successor. Windows gives each of those that inherits none a window of its own.
func TestStartedAgentHasAConsoleThatNobodySees(t *testing.T) {
	again := func(step string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), consoleEnv+"="+step)
		return cmd
	}
	switch os.Getenv(consoleEnv) {
	case "agent":
		helper := again("helper")
		helper.Stderr = os.Stderr
		_ = helper.Run()
		os.Exit(1)
	case "helper":
		kernel32, user32 := windows.NewLazySystemDLL("kernel32.dll"), windows.NewLazySystemDLL("user32.dll")
		page, _, _ := kernel32.NewProc("GetConsoleCP").Call()
		window, _, _ := kernel32.NewProc("GetConsoleWindow").Call()
		visible, _, _ := user32.NewProc("IsWindowVisible").Call(window)
		fmt.Fprintf(os.Stderr, "console %t, visible %t\n", page != 0, visible != 0)
		os.Exit(1)
	}
	ended, err := startDetached(again("agent"))
	require.NoError(t, err)
	require.EqualError(t, <-ended, "console true, visible false")
}
