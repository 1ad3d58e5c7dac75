package paths

import "strings"

// UserSettings returns where the user's settings are on an OS (a GOOS value), or "" where the
// environment does not say.
func UserSettings(goos string, getenv func(string) string) string {
	switch goos {
	case "windows":
		return under(getenv("AppData"), `\Sidetone\config.yaml`)
	case "darwin":
		return under(getenv("HOME"), "/Library/Application Support/Sidetone/config.yaml")
	}
	// The XDG base directory specification says to ignore a relative path.
	if dir := getenv("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") {
		return under(dir, "/sidetone/config.yaml")
	}
	return under(getenv("HOME"), "/.config/sidetone/config.yaml")
}

// SystemSettings returns where the administrator's settings are on an OS (a GOOS value), or ""
// where the environment does not say.
func SystemSettings(goos string, getenv func(string) string) string {
	switch goos {
	case "windows":
		return under(getenv("ProgramData"), `\Sidetone\config.yaml`)
	case "darwin":
		return "/Library/Application Support/Sidetone/config.yaml"
	default:
		return "/etc/sidetone/config.yaml"
	}
}

func under(dir, path string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimRight(dir, `/\`) + path
}
