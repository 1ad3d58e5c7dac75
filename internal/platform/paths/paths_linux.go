package paths

import (
	"os"
	"path/filepath"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/session"
)

// AgentsFolder is where all vendors' agents of this user have their sockets and locks: sidetone in
// $XDG_RUNTIME_DIR.
//
// Where that is not set, as under cron or su, it is in /run/user/UID, which is what it is set
// to where it is set, so that both find each other; and without that it is /tmp/sidetone-UID. The
// user's cache is no place for it: home folders may be shared with other machines, on which
// neither socket nor lock mean anything.
func AgentsFolder(getenv func(string) string) (string, error) {
	if runtime := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		return filepath.Join(runtime, "sidetone"), nil
	}
	return agentsFolder("/run/user", "/tmp"), nil
}

func agentsFolder(run, temp string) string {
	own := filepath.Join(run, session.User())
	if info, err := os.Lstat(own); err == nil && info.IsDir() && files.OwnerOf(info) == os.Geteuid() {
		return filepath.Join(own, "sidetone")
	}
	return filepath.Join(temp, "sidetone-"+session.User())
}
