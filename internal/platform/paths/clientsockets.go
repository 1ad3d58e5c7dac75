package paths

import (
	"cmp"
	"path"
	"strings"
)

// sandboxed are the folders below $XDG_RUNTIME_DIR in which Flatpak and Snap clients have their sockets (rule R7).
var sandboxed = []string{
	"app/com.discordapp.Discord",
	"snap.discord",
	"app/com.discordapp.DiscordPTB",
	"app/com.discordapp.DiscordCanary",
	"snap.discord-canary",
}

// ClientSockets returns the folders in which clients open discord-ipc-0 to -9 on an OS (a GOOS value), best first (rule R7): the first
// that is set of XDG_RUNTIME_DIR, TMPDIR, TMP and TEMP, else /tmp, then those of Flatpak and Snap. A variable with a relative path is
// ignored, since only the client knows what it is relative to. Windows has one place for all pipes.
func ClientSockets(goos string, getenv func(string) string) []string {
	if goos == "windows" {
		return []string{`\\.\pipe\`}
	}
	set := func(name string) string {
		if value := getenv(name); strings.HasPrefix(value, "/") {
			return path.Clean(value)
		}
		return ""
	}
	runtime := set("XDG_RUNTIME_DIR")
	folders := []string{cmp.Or(runtime, set("TMPDIR"), set("TMP"), set("TEMP"), "/tmp")}
	if runtime != "" {
		for _, name := range sandboxed {
			folders = append(folders, path.Join(runtime, name))
		}
	}
	return folders
}
