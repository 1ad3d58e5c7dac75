//go:build !linux

package paths

import (
	"errors"
	"fmt"
)

// SessionFolder is where a vendor's agent keeps what ends with the user's log-in session. Here no folder does.
func SessionFolder(func(string) string, string) (string, error) {
	return "", fmt.Errorf("folder of the session: %w", errors.ErrUnsupported)
}
