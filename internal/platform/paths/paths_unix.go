//go:build linux || darwin

package paths

import "path/filepath"

// ControlSocket is the name of the socket in its vendor's folder.
const ControlSocket = "agent.sock"

// ControlAddress returns the path of a vendor's control socket, in the vendor's folder among those of all agents.
func ControlAddress(getenv func(string) string, vendor string) (string, error) {
	folder, err := AgentsFolder(getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, vendor, ControlSocket), nil
}

// VendorOf returns the vendor of the agent at address, if that is a usual one.
func VendorOf(address string) string { return filepath.Base(filepath.Dir(address)) }

// PolicyValues returns none: on this system the administrator's policy is in files.
func PolicyValues(string) (key string, values map[string]string, err error) { return "", nil, nil }

// CheckSystemSettings returns nil: only root can create files where the administrator's settings are.
func CheckSystemSettings(string) error { return nil }
