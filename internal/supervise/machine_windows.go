package supervise

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// OwnSession is a Machine of one session, that of this process: what it starts at log-in.
type OwnSession struct{ Program }

// Sessions is one that never ends: this process ends with it.
func (OwnSession) Sessions() (Sessions, error) {
	var id uint32
	_ = windows.ProcessIdToSessionId(windows.GetCurrentProcessId(), &id) // which is for the log alone
	return Sessions{Users: []Session{{ID: id}}}, nil
}

// Start starts the agent as this process is, which it outlives.
func (o OwnSession) Start(_ Session, last int) (Process, error) { return o.start(0, false, last) }

// AllSessions is a Machine of all users who are logged on. It takes the rights of the system.
type AllSessions struct {
	Program
	Check func() error // says why no program may be started; before each start
}

// Sessions asks Windows which there are.
func (AllSessions) Sessions() (Sessions, error) {
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

// readyIn is the log-on of a token whose user's profile is loaded: a token may be there before that, and its environment is then that of
// another profile. Its key is opened without the right to read from it.
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
	if err != nil { // not wrapped: what is not found here does not say that nobody is logged on
		return 0, errors.New("the profile of user " + sid + " is not loaded: " + err.Error())
	}
	return acl.LogonOf(token)
}

// usersOf tells by their tokens who is logged on, whatever the states of sessions are: there are some for a moment only, as while a client
// of remote desktop connects.
func usersOf(list []windows.WTS_SESSION_INFO, logonIn func(session uint32) (uint64, error)) (all Sessions, unclear error) {
	all.Unknown = []uint32{}
	for _, s := range list {
		if s.SessionID == 0 || s.State == windows.WTSListen {
			continue // that of services, and what is none yet: nobody logs on there
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

// Start starts the agent as the user of a session.
func (a AllSessions) Start(s Session, last int) (Process, error) {
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

// userOf is the token of who is logged on in a session.
func userOf(session uint32) (token windows.Token, err error) {
	if err = windows.WTSQueryUserToken(session, &token); err != nil {
		err = fmt.Errorf("the user of session %d: %w", session, err)
	}
	return token, err
}
