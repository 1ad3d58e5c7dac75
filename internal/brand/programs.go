package brand

import (
	"path/filepath"
	"strings"
)

// A brand has two programs in one folder: the agent, and the tray, which has the agent's name plus a suffix. On Windows the
// suffix w marks a program without a console, as in pythonw.exe.
const (
	traySuffix        = "-tray"
	traySuffixWindows = "w"
	serviceSuffix     = "-service"
	exeSuffix         = ".exe"
)

// TrayOf returns the path of the tray program that belongs to an agent.
func TrayOf(agent string) string {
	if name, ok := strings.CutSuffix(agent, exeSuffix); ok {
		return name + traySuffixWindows + exeSuffix
	}
	return agent + traySuffix
}

// ServiceOf returns the path of the program that is the agent's service on Windows. A package may leave it out.
func ServiceOf(agent string) string {
	return strings.TrimSuffix(agent, exeSuffix) + serviceSuffix + exeSuffix
}

// AgentOf returns the path of the agent that belongs to a tray program.
func AgentOf(tray string) string {
	if name, ok := strings.CutSuffix(tray, exeSuffix); ok {
		return strings.TrimSuffix(name, traySuffixWindows) + exeSuffix
	}
	return strings.TrimSuffix(tray, traySuffix)
}

// ProgramName is what users call the program at a path.
func ProgramName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), exeSuffix)
}
