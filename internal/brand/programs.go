package brand

import (
	"os"
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

// TrayCommand returns the command that shows the tray of an agent. On Windows the agent's program would open a console.
func TrayCommand(agent string) []string {
	if strings.HasSuffix(agent, exeSuffix) {
		return []string{TrayOf(agent)}
	}
	return []string{agent, "tray"}
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

// ProgramName returns the name by which users run the program at a path.
func ProgramName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), exeSuffix)
}

// Unbranded is the name of an unbranded agent, whatever its file is called.
const Unbranded = "sidetone"

// NameOf returns the name of the agent at a path, after which its folders of settings, environment variables and unit are
// named. Without a brand file it is Unbranded, so that a renamed program keeps its settings.
func NameOf(executable string) string {
	if _, err := os.Stat(Path(executable)); err != nil {
		return Unbranded
	}
	return ProgramName(executable)
}

// SettingsFiles returns the paths of the vendor's settings files, beside the agent's program: its defaults, and its policy, which
// users cannot change.
func SettingsFiles(executable string) (defaults, policy string) {
	path := strings.TrimSuffix(executable, exeSuffix)
	return path + ".defaults.yaml", path + ".policy.yaml"
}

// EnvPrefix returns the prefix of a program's environment variables.
func EnvPrefix(program string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(program)) + "_"
}

// RenameCommands replaces the unbranded program's name in a text for users: in commands, which follow a quotation mark as in
// 'sidetone doctor' or begin a line after two spaces, in environment variables, and in the name of the udev rules file.
func RenameCommands(text, program string) string {
	if program == Unbranded {
		return text
	}
	return strings.NewReplacer("'"+Unbranded+" ", "'"+program+" ", "\n  "+Unbranded+" ", "\n  "+program+" ",
		EnvPrefix(Unbranded), EnvPrefix(program), "70-"+Unbranded+"-hid.rules", "70-"+program+"-hid.rules").Replace(text)
}
