package supervise

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OwnSession is a Machine of one session, that of this process: what it starts at log-in.
type OwnSession struct{ Program }

// Sessions is one that never ends: this process ends with it.
func (OwnSession) Sessions() ([]Session, error) { return []Session{{}}, nil }

// Start starts the agent as this process is, which it outlives.
func (o OwnSession) Start(Session) (Process, error) { return o.start(0, false) }

// AllSessions is a Machine of all users who are logged on. It takes the rights of the system.
type AllSessions struct{ Program }

// Sessions asks Windows which there are. One at its log-on screen has no user.
func (AllSessions) Sessions() (all []Session, err error) {
	var list *windows.WTS_SESSION_INFO
	var n uint32
	const thisMachine, version = 0, 1
	if err := windows.WTSEnumerateSessions(thisMachine, 0, version, &list, &n); err != nil {
		return nil, fmt.Errorf("WTSEnumerateSessions: %w", err)
	}
	defer windows.WTSFreeMemory(uintptr(unsafe.Pointer(list)))
	for _, s := range unsafe.Slice(list, n) {
		if s.State != windows.WTSActive && s.State != windows.WTSDisconnected {
			continue
		}
		if token, err := userOf(s.SessionID); err == nil {
			if logon, err := logonOf(token); err == nil {
				all = append(all, Session{s.SessionID, logon})
			}
			token.Close()
		}
	}
	return all, nil
}

// Start starts the agent as the user of a session.
func (a AllSessions) Start(s Session) (Process, error) {
	token, err := userOf(s.ID)
	if err != nil {
		return nil, err
	}
	defer token.Close()
	if logon, err := logonOf(token); err != nil || logon != s.Logon {
		return nil, fmt.Errorf("session %d is of another user now", s.ID)
	}
	return a.start(token, true)
}

// userOf is the token of who is logged on in a session.
func userOf(session uint32) (token windows.Token, err error) {
	if err = windows.WTSQueryUserToken(session, &token); err != nil {
		err = fmt.Errorf("the user of session %d: %w", session, err)
	}
	return token, err
}

// logonOf is the number of a log-on, which is never used again before the machine is restarted.
func logonOf(token windows.Token) (uint64, error) {
	var statistics struct{ TokenID, AuthenticationID windows.LUID } // TOKEN_STATISTICS begins so
	var all [64]byte
	var n uint32
	if err := windows.GetTokenInformation(token, windows.TokenStatistics, &all[0], uint32(len(all)), &n); err != nil {
		return 0, fmt.Errorf("the log-on of a session: %w", err)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&statistics)), unsafe.Sizeof(statistics)), all[:])
	id := statistics.AuthenticationID
	return uint64(id.HighPart)<<32 | uint64(id.LowPart), nil
}
