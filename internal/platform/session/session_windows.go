package session

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
)

// User returns the user of this process, in the form of Process.UID; "" if unknown.
func User() string { return UserOf(windows.GetCurrentProcessToken()) }

// UserOf returns the user of a token; "" if unknown.
func UserOf(token windows.Token) string {
	user, err := token.GetTokenUser()
	if err != nil {
		return ""
	}
	return user.User.Sid.String()
}

// ID returns the number of this process's log-in session.
func ID() (string, error) {
	var session uint32
	if err := windows.ProcessIdToSessionId(windows.GetCurrentProcessId(), &session); err != nil {
		return "", fmt.Errorf("the session of this process: %w", err)
	}
	return strconv.FormatUint(uint64(session), 10), nil
}

// Events of a SessionChange (winuser.h).
const (
	consoleConnected = 0x1
	remoteConnected  = 0x3
	unlocked         = 0x8
)

// Flags of an EndSession (winuser.h). With closeApp the session goes on, and the Restart Manager wants this program to end, if necessary
// by force.
const (
	closeApp = 0x1
	logOff   = 0x80000000
)

var (
	registerSession   = windows.NewLazySystemDLL("wtsapi32.dll").NewProc("WTSRegisterSessionNotification")
	unregisterSession = windows.NewLazySystemDLL("wtsapi32.dll").NewProc("WTSUnRegisterSessionNotification")
)

// Watch calls the events until ctx ends; then it returns nil. If it cannot watch, it returns at once with an error for people to read.
func Watch(ctx context.Context, log *slog.Logger, on Events) error {
	heard, err := broadcast.Subscribe(func(m broadcast.Message) (answer uintptr, handled bool) {
		switch m.ID {
		case broadcast.SessionChange:
			if IsReturn(m.Param) {
				on.Returned()
			}
		case broadcast.QueryEndSession:
			return 1, true // do not prevent the end of the session, which the user may still cancel
		case broadcast.EndSession:
			if m.Param != 0 {
				on.Ending(m.Data&(closeApp|logOff) != closeApp)
			}
			return 0, true
		}
		return 0, false
	}, broadcast.SessionChange, broadcast.QueryEndSession, broadcast.EndSession)
	if err != nil {
		return fmt.Errorf("the end of the session, and the user's return to it, are not noticed: %w", err)
	}
	defer heard.Close()
	broadcast.EndFirst() // otherwise clients may have ended already
	stop, err := NotifyReturns(heard)
	if err != nil {
		log.Warn(err.Error())
	}
	defer stop()
	<-ctx.Done()
	return nil
}

// IsReturn reports whether a SessionChange with that parameter means that the user is back.
func IsReturn(what uintptr) bool {
	return what == unlocked || what == consoleConnected || what == remoteConnected
}

// NotifyReturns has the window of a subscription receive a SessionChange when the user comes back to this session, until stop is called.
// stop is never nil.
func NotifyReturns(s *broadcast.Subscription) (stop func(), err error) {
	const thisSession = 0
	if ok, _, err := registerSession.Call(uintptr(s.Window()), thisSession); ok == 0 {
		return func() {}, fmt.Errorf("the user's return to the session is not noticed: %w", err)
	}
	return func() { _, _, _ = unregisterSession.Call(uintptr(s.Window())) }, nil
}
