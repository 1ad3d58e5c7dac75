package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UserSettings returns the path of the user's settings of a program on an OS (a GOOS value), or "" if the environment does not tell.
func UserSettings(goos, program string, getenv func(string) string) string {
	switch goos {
	case "windows":
		return under(getenv("AppData"), `\`+folder(program)+`\config.yaml`)
	case "darwin":
		return under(getenv("HOME"), "/Library/Application Support/"+folder(program)+"/config.yaml")
	}
	// The XDG base directory specification says to ignore a relative path.
	if dir := getenv("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") {
		return under(dir, "/"+program+"/config.yaml")
	}
	return under(getenv("HOME"), "/.config/"+program+"/config.yaml")
}

// Etc is the folder of the administrator's settings and policy on Linux. Tests that start the agent link it with another value (go build
// -ldflags -X), so that settings of a developer's machine have no effect. It is no environment variable: a user could evade a policy.
var Etc = "/etc"

// Run is the folder in which what serves all users of Linux has its sockets; another one for such tests.
var Run = "/run"

// SystemSettings returns the path of the administrator's settings of a program on an OS (a GOOS value), or "" if the environment does not
// tell.
func SystemSettings(goos, program string, getenv func(string) string) string {
	switch goos {
	case "windows":
		return under(getenv("ProgramData"), `\`+folder(program)+`\config.yaml`)
	case "darwin":
		return "/Library/Application Support/" + folder(program) + "/config.yaml"
	default:
		return Etc + "/" + program + "/config.yaml"
	}
}

// Policy returns the folder of the administrator's policy, which no user can override, in files like those of settings; "" if there is
// none on this OS.
func Policy(goos, program string) string {
	if goos == "windows" {
		return ""
	}
	return strings.TrimSuffix(SystemSettings(goos, program, nil), "config.yaml") + "policy.d"
}

// PolicyFiles returns the files of a policy folder, sorted by name. A missing folder has none.
func PolicyFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		isYAML := slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name()))
		if isYAML && !strings.HasPrefix(e.Name(), ".") { // hidden files belong to editors and tools
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names, err
}

// PolicyKey returns the registry key of a program's group policy, below HKEY_LOCAL_MACHINE.
func PolicyKey(program string) string { return `Software\Policies\` + folder(program) }

// PackageKey returns the registry key of the administrator's decisions at the installation of the package, below HKEY_LOCAL_MACHINE. It
// is not that of group policies, since a package would take over their values and remove them.
func PackageKey(program string) string { return `Software\` + folder(program) + `\Policy` }

// folder returns the name of a program's folder where folder names usually begin with a capital letter.
func folder(program string) string {
	if program == "sidetone" {
		return "Sidetone"
	}
	return program
}

func under(dir, path string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimRight(dir, `/\`) + path
}
