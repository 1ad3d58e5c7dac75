package session

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/windows"
)

// User is the user under which this process runs, in the form of Process.UID; "" if
// Windows does not say.
func User() string { return UserOf(windows.GetCurrentProcessToken()) }

// UserOf is the user whom a token stands for; "" if unknown.
func UserOf(token windows.Token) string {
	user, err := token.GetTokenUser()
	if err != nil {
		return ""
	}
	return user.User.Sid.String()
}

// ID is the number of the login session of this process.
func ID() (string, error) {
	var session uint32
	if err := windows.ProcessIdToSessionId(windows.GetCurrentProcessId(), &session); err != nil {
		return "", fmt.Errorf("the session of this process: %w", err)
	}
	return strconv.FormatUint(uint64(session), 10), nil
}
