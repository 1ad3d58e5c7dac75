package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UserSettings returns where the user's settings of a program are on an OS (a GOOS value), or "" where the
// environment does not say.
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

// Etc is the folder of the administrator's settings and policy on Linux. Tests that start the agent link it with another one (go build
// -ldflags -X), so that what is set on a developer's machine changes nothing. No environment variable says it: a user could get round a
// policy.
var Etc = "/etc"

// SystemSettings returns where the administrator's settings of a program are on an OS (a GOOS value), or ""
// where the environment does not say.
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

// Policy returns the folder in which the administrator says what no user may change, in files like those of settings; "": there is none
// on this OS.
func Policy(goos, program string) string {
	if goos == "windows" {
		return ""
	}
	return strings.TrimSuffix(SystemSettings(goos, program, nil), "config.yaml") + "policy.d"
}

// PolicyFiles are the files of a folder of policy, in the order of their names. A folder that is not there has none.
func PolicyFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		isYAML := slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name()))
		if isYAML && !strings.HasPrefix(e.Name(), ".") { // those are of editors and tools
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names, err
}

// PolicyKey is the key of a program's group policy, below HKEY_LOCAL_MACHINE.
func PolicyKey(program string) string { return `Software\Policies\` + folder(program) }

// PackageKey is the key of what the administrator who installed a program's package has decided, below HKEY_LOCAL_MACHINE. It is not that
// of group policies: a package would take their values for its own, and remove them.
func PackageKey(program string) string { return `Software\` + folder(program) + `\Policy` }

// folder is the name of a program's folder where those of other programs begin with a capital letter.
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
