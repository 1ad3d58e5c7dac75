package paths

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/session"
)

// Pipes is where all named Pipes are; PipePrefix begins the names of agents' control Pipes.
const (
	Pipes      = `\\.\pipe\`
	PipePrefix = "sidetone-"
)

// AgentsFolder is where all vendors' agents of this user have their locks, in the user's local
// application data. SHGetKnownFolderPath would have the whole shell loaded, into an agent that uses nothing else of it.
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

// ControlAddress is the name of a vendor's control pipe, with the user's SID and the session in it:
// Pipes are the whole machine's, and a user who is logged in twice has two clients.
func ControlAddress(_ func(string) string, vendor string) (string, error) {
	suffix, err := PipeSuffix()
	return Pipes + PipePrefix + vendor + suffix, err
}

// PipeSuffix ends the name of a control pipe: whose it is, and of which session.
func PipeSuffix() (string, error) {
	sid := session.User()
	if sid == "" {
		return "", errors.New("name of the control pipe: Windows does not say who this user is")
	}
	session, err := session.ID()
	return "-" + sid + "-" + session, err
}

// VendorOf is the vendor of the agent at address, if that is a usual one.
func VendorOf(address string) string {
	suffix, _ := PipeSuffix() // without one there is no usual address
	return strings.TrimSuffix(strings.TrimPrefix(address, Pipes+PipePrefix), suffix)
}

const stateName = "Sidetone"

// stateBase is the user's local application data, as the environment has it: only this user, the system and administrators may write
// there.
func stateBase(getenv func(string) string) (string, error) {
	if data := getenv("LOCALAPPDATA"); filepath.IsAbs(data) {
		return data, nil
	}
	return "", nil
}

// Downloads is the user's folder of downloads, where a page may be put that a browser is to show.
func Downloads(func(string) string) (string, error) {
	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	if err != nil {
		return "", fmt.Errorf("folder of downloads: %w", err)
	}
	return folder, nil
}
