package paths

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/session"
)

// Pipes is the path of all named pipes; PipePrefix begins the names of agents' control pipes.
const (
	Pipes      = `\\.\pipe\`
	PipePrefix = "sidetone-"
)

// AgentsFolder returns the folder in which all vendors' agents of this user have their locks, in the user's local application data.
// SHGetKnownFolderPath would load the whole shell, of which the agent uses nothing else.
func AgentsFolder(func(string) string) (string, error) {
	profile, err := profileFolder()
	if err != nil {
		return "", fmt.Errorf("folder of the agents' locks: %w", err)
	}
	return filepath.Join(profile, `AppData\Local\Sidetone`), nil
}

func profileFolder() (string, error) {
	var token windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_QUERY, &token); err != nil {
		return "", err
	}
	defer token.Close()
	return token.GetUserProfileDirectory()
}

// ControlAddress returns the name of a vendor's control pipe. It contains the user's SID and the session: pipes belong to the whole
// machine, and a user who is logged in twice has two clients.
func ControlAddress(_ func(string) string, vendor string) (string, error) {
	suffix, err := PipeSuffix()
	return Pipes + PipePrefix + vendor + suffix, err
}

// PipeSuffix returns the end of a control pipe's name: its user and session.
func PipeSuffix() (string, error) {
	sid := session.User()
	if sid == "" {
		return "", errors.New("name of the control pipe: Windows does not say who this user is")
	}
	session, err := session.ID()
	return "-" + sid + "-" + session, err
}

// VendorOf returns the vendor of the agent at address, if that is a usual one.
func VendorOf(address string) string {
	suffix, _ := PipeSuffix() // if it fails, no address is usual
	return strings.TrimSuffix(strings.TrimPrefix(address, Pipes+PipePrefix), suffix)
}

const stateName = "Sidetone"

// stateBase is the user's local application data according to the environment: only this user, the system and administrators may write
// there.
func stateBase(getenv func(string) string) (string, error) {
	if data := getenv("LOCALAPPDATA"); filepath.IsAbs(data) {
		return data, nil
	}
	return "", nil
}

// Downloads returns the user's download folder, where browsers may read a page.
func Downloads(func(string) string) (string, error) {
	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	if err != nil {
		return "", fmt.Errorf("folder of downloads: %w", err)
	}
	return folder, nil
}
