package paths

import (
	"errors"
	"fmt"
)

const stateName = ""

// stateBase is not known here: state is where sockets are.
func stateBase(func(string) string) (string, error) { return "", nil }

// SessionFolder is where a vendor's agent keeps what ends with the user's log-in session. Here no folder does.
func SessionFolder(func(string) string, string) (string, error) {
	return "", fmt.Errorf("folder of the session: %w", errors.ErrUnsupported)
}
