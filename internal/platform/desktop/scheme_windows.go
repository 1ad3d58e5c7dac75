package desktop

import "golang.org/x/sys/windows/registry"

// TaskbarScheme is what colours the user prefers for the taskbar. Windows that do not ask have a dark one.
func TaskbarScheme() Scheme {
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.QUERY_VALUE)
	if err != nil {
		return NoPreference
	}
	defer key.Close()
	switch light, _, err := key.GetIntegerValue("SystemUsesLightTheme"); {
	case err != nil:
		return NoPreference
	case light != 0:
		return PreferLight
	default:
		return PreferDark
	}
}
