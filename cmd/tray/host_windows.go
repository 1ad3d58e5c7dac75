package main

import (
	"context"
	"log/slog"

	"sidetone/internal/idlegc"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/supervise"
)

// hostVerb is what Windows starts at log-in: this program, since the agent's would open a console.
const hostVerb = "host"

// host keeps the agent running in this session, without a window, until that ends in order, or Windows has this process end, with the
// session or for an installer. It is for the verb alone.
func host(agent string, args []string) (code int, is bool) {
	if len(args) == 0 || args[0] != hostVerb {
		return 0, false
	}
	idlegc.NewCollector()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := supervise.Supervisor{
		Machine: supervise.OwnSession{Program: supervise.Program{Path: agent, Args: args[1:]}},
		Log:     slog.New(slog.DiscardHandler), // the agent has a log of its own
		Down: func(_ supervise.Session, ended int) {
			code = ended
			cancel()
		},
	}
	heard, err := broadcast.Subscribe(func(m broadcast.Message) (answer uintptr, handled bool) {
		if m.ID == broadcast.QueryEndSession {
			return 1, true
		}
		if m.ID == broadcast.Close || m.Param != 0 {
			cancel()
		}
		return 0, true
	}, broadcast.QueryEndSession, broadcast.EndSession, broadcast.Close)
	if err == nil { // else Windows ends it by force
		defer heard.Close()
	}
	s.Run(ctx, nil)
	return code, true
}
