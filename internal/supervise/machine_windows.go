package supervise

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// OwnSession is a Machine of one session, that of this process. It is for the program that Windows starts at log-in.
type OwnSession struct{ Program }

// Sessions returns one session that never ends: this process ends with it.
func (OwnSession) Sessions() (Sessions, error) {
	var id uint32
	_ = windows.ProcessIdToSessionId(windows.GetCurrentProcessId(), &id) // used only in the log
	return Sessions{Users: []Session{{ID: id}}}, nil
}

// Start starts the agent as this process's user. The agent outlives this process.
func (o OwnSession) Start(_ Session, last int) (Process, error) { return o.start(0, false, last) }

// allSessions is a Machine of all logged-on users. It needs the system's rights.
type allSessions struct {
	Program
	Check func() error // called before each start; an error forbids it
}

// Sessions lists the sessions.
func (allSessions) Sessions() (Sessions, error) {
	var list *windows.WTS_SESSION_INFO
	var n uint32
	const thisMachine, version = 0, 1
	if err := windows.WTSEnumerateSessions(thisMachine, 0, version, &list, &n); err != nil {
		return Sessions{}, fmt.Errorf("WTSEnumerateSessions: %w", err)
	}
	defer windows.WTSFreeMemory(uintptr(unsafe.Pointer(list)))
	return usersOf(unsafe.Slice(list, n), func(session uint32) (uint64, error) {
		token, err := userOf(session)
		if err != nil {
			return 0, err
		}
		defer token.Close()
		return readyIn(token)
	})
}

// readyIn returns the log-on of a token whose user's profile is loaded. A token may exist before that, and its environment is then that
// of another profile. The profile's key is opened without the right to read it.
func readyIn(token windows.Token) (logon uint64, err error) {
	user, err := token.GetTokenUser()
	if err != nil {
		return 0, fmt.Errorf("the user of a session: %w", err)
	}
	sid := user.User.Sid.String()
	_, err = token.GetUserProfileDirectory()
	if err == nil {
		var hive windows.Handle
		if err = windows.RegOpenKeyEx(windows.HKEY_USERS, windows.StringToUTF16Ptr(sid), 0, windows.READ_CONTROL, &hive); err == nil {
			_ = windows.RegCloseKey(hive)
		}
	}
	if err != nil { // not wrapped: "not found" here does not mean that nobody is logged on
		return 0, errors.New("the profile of user " + sid + " is not loaded: " + err.Error())
	}
	return acl.LogonOf(token)
}

// usersOf finds out by their tokens who is logged on, whatever the states of the sessions: some states last only a moment, as while a
// remote desktop client connects.
func usersOf(list []windows.WTS_SESSION_INFO, logonIn func(session uint32) (uint64, error)) (all Sessions, unclear error) {
	all.Unknown = []uint32{}
	for _, s := range list {
		if s.SessionID == 0 || s.State == windows.WTSListen {
			continue // services, and listeners: nobody logs on there
		}
		logon, err := logonIn(s.SessionID)
		switch {
		case err == nil:
			all.Users = append(all.Users, Session{s.SessionID, logon})
		case errors.Is(err, windows.ERROR_NO_TOKEN), errors.Is(err, windows.ERROR_FILE_NOT_FOUND),
			errors.Is(err, windows.ERROR_CTX_WINSTATION_NOT_FOUND): // at its log-on screen, or gone by now
		default:
			all.Unknown, unclear = append(all.Unknown, s.SessionID), errors.Join(unclear, err)
		}
	}
	return all, unclear
}

// Start starts the agent as the session's user.
func (a allSessions) Start(s Session, last int) (Process, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	token, err := userOf(s.ID)
	if err != nil {
		return nil, err
	}
	defer token.Close()
	if logon, err := acl.LogonOf(token); err != nil || logon != s.Logon {
		return nil, fmt.Errorf("session %d is of another user now", s.ID)
	}
	return a.start(token, true, last)
}

// userOf returns the token of the user who is logged on in a session.
func userOf(session uint32) (token windows.Token, err error) {
	if err = windows.WTSQueryUserToken(session, &token); err != nil {
		err = fmt.Errorf("the user of session %d: %w", session, err)
	}
	return token, err
}
