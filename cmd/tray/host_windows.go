package main

import (
	"context"
	"log/slog"

	"golang.org/x/sys/windows/svc/eventlog"

	"sidetone/internal/brand"
	"sidetone/internal/platform/session"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/eventsource"
	"sidetone/internal/signal"
	"sidetone/internal/supervise"
)

// hostVerb is the verb with which Windows starts this program at log-in. The agent's own program would open a console.
const hostVerb = "host"

// host keeps the agent running in this session, without a window, until the agent ends in order or Windows ends this process: with the
// session, or for an installer. is is false unless the verb is hostVerb.
func host(agent string, args []string) (code int, is bool) {
	if len(args) == 0 || args[0] != hostVerb {
		return 0, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	returns, sleeps := signal.New(), signal.New()
	s := supervise.Supervisor{
		Machine: supervise.OwnSession{Program: supervise.Program{Path: agent, Args: args[1:]}},
		Log:     events(brand.ProgramName(agent)),
		Sleeps:  sleeps,
		Down: func(_ supervise.Session, ended int) {
			code = ended
			cancel()
		},
	}
	heard, err := listen(cancel, returns, sleeps)
	broadcast.EndLast()
	if err == nil { // else Windows ends it by force
		defer heard.Close()
		if err := heard.Mark(supervise.HostMark); err != nil {
			s.Log.Warn("'service stop' cannot end what restarts the agent", "reason", err)
		}
		stop, err := session.NotifyReturns(heard)
		if err != nil {
			s.Log.Warn(err.Error())
		}
		defer stop()
	}
	s.Run(ctx, returns)
	return code, true
}

// events returns a logger to Windows' event log if the source of that name is registered there, which takes an administrator. Otherwise
// it discards everything.
func events(source string) *slog.Logger {
	if eventsource.IsOurs(source) {
		if log, err := eventlog.Open(source); err == nil { // for the life of the process
			return slog.New(supervise.EventLog(log))
		}
	}
	return slog.New(slog.DiscardHandler)
}

// listen calls end when Windows wants this process to end, and notifies of sleep and of the user's return to the session.
func listen(end func(), returns, sleeps signal.Signal) (*broadcast.Subscription, error) {
	return broadcast.Subscribe(func(m broadcast.Message) (answer uintptr, handled bool) {
		switch {
		case m.ID == broadcast.PowerBroadcast:
			if supervise.IsSleep(uint32(m.Param)) {
				sleeps.Notify()
			}
			return 0, false
		case m.ID == broadcast.SessionChange:
			if session.IsReturn(m.Param) {
				returns.Notify()
			}
			return 0, false
		case m.ID == broadcast.QueryEndSession:
			return 1, true
		case m.ID == broadcast.Close, m.Param != 0:
			end()
		}
		return 0, true
	}, broadcast.QueryEndSession, broadcast.EndSession, broadcast.Close, broadcast.PowerBroadcast, broadcast.SessionChange)
}
