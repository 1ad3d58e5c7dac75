package service

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"sidetone/internal/supervise"
)

// The variables by which systemd says where it wants to hear of the agent, and how often.
const (
	notifySocket = "NOTIFY_SOCKET"
	watchdogUsec = "WATCHDOG_USEC"
	watchdogPID  = "WATCHDOG_PID"
)

// Notifier tells who has started the agent that it is ready, that it still answers, and that it stops: systemd's sd_notify(3), which is one
// datagram each.
type Notifier struct {
	send       func(state string) error
	every      time.Duration // between two signs of life; 0: nobody waits for any
	tick       func(every time.Duration) (wait func() error, stop func(), err error)
	handedOver atomic.Bool // another process goes on, and says itself when it stops
}

// SuccessorEnv is own as the environment of a process that goes on in place of this one: without the variable by which systemd's watchdog
// watches this process alone, and without the code of a crash, which this one has reported.
func SuccessorEnv(own []string) []string {
	return append(own, watchdogPID+"=", supervise.LastExitVariable+"=")
}

// HandOver says that another process of this unit goes on.
func (n *Notifier) HandOver(pid int) {
	n.handedOver.Store(true)
	_ = n.send("MAINPID=" + strconv.Itoa(pid) + "\n" + alive) // if it is lost, the unit ends in order with this process
}

// alive is the sign of life.
const alive = "WATCHDOG=1"

// Supervised reports whether somebody wants to hear of the agent, or of its end.
func Supervised(getenv func(string) string) bool {
	return getenv(notifySocket) != "" || getenv(supervise.StopEventVariable) != ""
}

// NewNotifier makes one of what the environment says; nil: nobody wants to hear of the agent.
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

// Run says that the agent is ready once answers has returned for the first time, and from then on, where somebody waits for it, that it
// is alive as often as answers returns: one that hangs falls silent. Where nobody listens the address was another's, as a desktop's,
// and nobody will miss anything. It returns when ctx has ended.
func (n *Notifier) Run(ctx context.Context, answers func(), log *slog.Logger) {
	tell := func(state string) {
		if err := n.send(state); err != nil {
			log.Warn("the service manager may take the agent for hung, and restart it", "reason", err)
		}
	}
	if answers(); ctx.Err() == nil {
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
			log.Warn("the service manager will take the agent for hung, and restart it", "reason", err)
		} else {
			context.AfterFunc(ctx, stop)
			for wait() == nil {
				if answers(); ctx.Err() == nil {
					tell(alive)
				}
			}
		}
	}
	<-ctx.Done()
	if !n.handedOver.Load() {
		_ = n.send("STOPPING=1")
	}
}
