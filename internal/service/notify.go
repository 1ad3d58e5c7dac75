package service

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	"sidetone/internal/supervise"
)

// Environment variables in which systemd says where it wants to hear from the agent, and how often.
const (
	notifySocket = "NOTIFY_SOCKET"
	watchdogUsec = "WATCHDOG_USEC"
	watchdogPID  = "WATCHDOG_PID"
)

// Notifier tells whoever has started the agent that it is ready, that it is alive, and that it stops, by the datagrams of systemd's
// sd_notify(3).
type Notifier struct {
	send  func(state string) error
	every time.Duration // between two signs of life; 0: none are expected
	tick  func(every time.Duration) (wait func() error, stop func(), err error)
}

// alive is the state that feeds the watchdog.
const alive = "WATCHDOG=1"

// Supervised reports whether somebody waits for news of the agent or for its end.
func Supervised(getenv func(string) string) bool {
	return getenv(notifySocket) != "" || getenv(supervise.StopEventVariable) != ""
}

// NewNotifier returns the Notifier that the environment asks for, or nil.
func NewNotifier(getenv func(string) string) *Notifier {
	address := getenv(notifySocket)
	if address == "" {
		return nil
	}
	n := &Notifier{send: func(state string) error { return sendState(address, state) }, tick: tick}
	limit, err := strconv.ParseInt(getenv(watchdogUsec), 10, 64)
	if pid := getenv(watchdogPID); err == nil && limit > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.every = time.Duration(limit) * time.Microsecond / 2
	}
	return n
}

// Run reports that the agent is ready once answers has returned for the first time. From then on, if the watchdog is on, it reports a
// sign of life each time that answers returns, so that an agent that hangs falls silent. If nobody listens at the address, it was
// inherited from somebody else's service, such as the desktop's, and nothing is reported. Run returns when ctx ends. It reports that the
// agent stops, unless goesOn says that a newer program takes the place of this process.
func (n *Notifier) Run(ctx context.Context, answers func(), goesOn func() bool, log *slog.Logger) {
	answers()
	if ctx.Err() == nil {
		err := n.send("READY=1")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			log.Debug("no service manager listens where NOTIFY_SOCKET says", "reason", err)
			<-ctx.Done()
			return
		}
		if err != nil {
			log.Warn("the service manager does not know that the agent is ready", "reason", err)
		}
	}
	if n.every > 0 {
		wait, stop, err := n.tick(n.every)
		if err != nil {
			log.Warn("the service manager will assume that the agent hangs, and restart it", "reason", err)
		} else {
			context.AfterFunc(ctx, stop)
			for wait() == nil {
				answers()
				if ctx.Err() != nil {
					break
				}
				if err := n.send(alive); err != nil {
					log.Warn("the service manager may assume that the agent hangs, and restart it", "reason", err)
				}
			}
		}
	}
	<-ctx.Done()
	if !goesOn() {
		_ = n.send("STOPPING=1")
	}
}
