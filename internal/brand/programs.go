package brand

import (
	"path/filepath"
	"strings"
)

// A brand has two programs in one folder: the agent, and the tray, whose name is that of the agent and an ending. On Windows the ending
// says that it is the one without a console.
const (
	trayEnding        = "-tray"
	trayEndingWindows = "w"
	windowsEnding     = ".exe"
)

// TrayOf is the path of the tray's program that belongs to an agent's.
func TrayOf(agent string) string {
	if name, is := strings.CutSuffix(agent, windowsEnding); is {
		return name + trayEndingWindows + windowsEnding
	}
	return agent + trayEnding
}

// AgentOf is the path of the agent's program that belongs to a tray's.
func AgentOf(tray string) string {
	if name, is := strings.CutSuffix(tray, windowsEnding); is {
		return strings.TrimSuffix(name, trayEndingWindows) + windowsEnding
	}
	return strings.TrimSuffix(tray, trayEnding)
}

// ProgramName is what users call the program at a path.
func ProgramName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), windowsEnding)
}
