package session

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
)

// What a SessionChange tells, of winuser.h.
const (
	consoleConnected = 0x1
	remoteConnected  = 0x3
	unlocked         = 0x8
)

// closeApp is what EndSession says alone where the session goes on: the Restart Manager wants this program to end.
const closeApp = 0x1

var (
	registerSession   = windows.NewLazySystemDLL("wtsapi32.dll").NewProc("WTSRegisterSessionNotification")
	unregisterSession = windows.NewLazySystemDLL("wtsapi32.dll").NewProc("WTSUnRegisterSessionNotification")
	shutdownOrder     = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetProcessShutdownParameters")
)

// endFirst is the highest rank in which programs are ended with the session, the highest first. Others have 0x280: so clients still
// take a list when this process is told of the end.
const endFirst = 0x3ff

// Watch calls the events until ctx ends; then it returns nil. Where it cannot hear of them it returns at once with an error for people to
// read.
func Watch(ctx context.Context, log *slog.Logger, on Events) error {
	heard, err := broadcast.Subscribe(func(m broadcast.Message) (answer uintptr, handled bool) {
		switch m.ID {
		case broadcast.SessionChange:
			if m.Param == unlocked || m.Param == consoleConnected || m.Param == remoteConnected {
				on.Returned()
			}
		case broadcast.QueryEndSession:
			return 1, true // this process keeps no session from its end, and it may yet go on
		case broadcast.EndSession:
			if m.Param != 0 {
				on.Ending(m.Data != closeApp)
			}
			return 0, true
		}
		return 0, false
	}, broadcast.SessionChange, broadcast.QueryEndSession, broadcast.EndSession)
	if err != nil {
		return fmt.Errorf("the end of the session, and the user's return to it, are not noticed: %w", err)
	}
	defer heard.Close()
	_, _, _ = shutdownOrder.Call(endFirst, 0) // without it clients may be gone already
	const thisSession = 0
	if ok, _, err := registerSession.Call(uintptr(heard.Window()), thisSession); ok != 0 {
		defer unregisterSession.Call(uintptr(heard.Window())) //nolint:errcheck // the window ends it, too
	} else {
		log.Warn("the user's return to the session is not noticed", "err", err)
	}
	<-ctx.Done()
	return nil
}
