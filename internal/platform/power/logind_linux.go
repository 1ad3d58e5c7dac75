package power

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"sidetone/internal/platform/linux"
)

// systemBus is where the D-Bus specification puts the system bus, and where it really is.
const systemBus = "unix:path=/var/run/dbus/system_bus_socket;unix:path=/run/dbus/system_bus_socket"

const (
	busTimeout  = 10 * time.Second // to connect and subscribe
	busRetryMin = time.Second
	busRetryMax = time.Minute
)

// prepareForSleep is logind's signal before a sleep (true) and after it (false).
const (
	logindName      = "org.freedesktop.login1"
	logindPath      = "/org/freedesktop/login1"
	logindInterface = "org.freedesktop.login1.Manager"
	prepareForSleep = "PrepareForSleep"
)

// unixBus returns the usable unix sockets of a D-Bus address, which is a list. Missing socket files are left out.
func unixBus(address string) (string, error) {
	var usable, missing []string
	for one := range strings.SplitSeq(address, ";") {
		where, isUnix := strings.CutPrefix(one, "unix:")
		if !isUnix {
			continue
		}
		if path, isPath := strings.CutPrefix(where, "path="); isPath {
			if path, _, _ = strings.Cut(path, ","); !linux.Exists(path) {
				missing = append(missing, path)
				continue
			}
		}
		usable = append(usable, one)
	}
	switch {
	case len(usable) > 0:
		return strings.Join(usable, ";"), nil
	case len(missing) > 0:
		return "", fmt.Errorf("this machine has no system bus at %s", strings.Join(missing, ", "))
	default:
		return "", fmt.Errorf("the system bus address %q names no unix socket", address)
	}
}

// busPause grows from one second to one minute, with jitter so that the agents of a machine do not all retry at once.
func busPause(failures int) time.Duration {
	d := min(busRetryMin<<min(failures, 6), busRetryMax)
	return d/2 + rand.N(d/2)
}

type logindWatch struct {
	address string
	log     *slog.Logger
	resumed func()
	timeout time.Duration
	pause   func(failures int) time.Duration
}

func (w *logindWatch) run(ctx context.Context) {
	for failures := 0; ; failures++ {
		began := time.Now()
		err := w.follow(ctx, failures > 0)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > busRetryMax { // it was connected for a long time
			failures = 0
		}
		if failures == 0 {
			w.log.Warn("logind does not report sleep until the system bus is back", "address", w.address, "err", err)
		}
		select {
		case <-time.After(w.pause(failures)):
		case <-ctx.Done():
			return
		}
	}
}

// follow serves one connection until it ends; the error says why it ended or could not be made.
func (w *logindWatch) follow(ctx context.Context, again bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection too
	late := time.AfterFunc(w.timeout, cancel)
	signals := make(chan *dbus.Signal, 8)
	err := w.subscribe(ctx, signals)
	if !late.Stop() {
		return errors.New("the system bus does not answer")
	}
	if err != nil {
		return err
	}
	if again {
		w.log.Info("logind reports sleep again")
	} else {
		w.log.Debug("watching logind for resume from sleep")
	}
	for s := range signals { // the connection closes it when it ends
		if isResume(s) {
			w.resumed()
		}
	}
	return errors.New("the system bus closed the connection")
}

// subscribe connects to the bus and has logind's signals sent to signals, which is closed when the connection ends. The connection lives
// until ctx ends.
func (w *logindWatch) subscribe(ctx context.Context, signals chan<- *dbus.Signal) error {
	conn, err := dbus.Connect(w.address, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("connect to the system bus: %w", err)
	}
	conn.Signal(signals)
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(logindName), dbus.WithMatchObjectPath(logindPath),
		dbus.WithMatchInterface(logindInterface), dbus.WithMatchMember(prepareForSleep))
	if err != nil {
		return fmt.Errorf("subscribe to logind on the system bus: %w", err)
	}
	var running bool
	err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, logindName).Store(&running)
	if err != nil {
		return fmt.Errorf("ask the system bus for logind: %w", err)
	}
	if !running {
		w.log.Warn("logind does not report sleep: systemd-logind does not run (or elogind in its place)")
	}
	return nil
}

func isResume(s *dbus.Signal) bool {
	if s.Name != logindInterface+"."+prepareForSleep || len(s.Body) != 1 {
		return false
	}
	starting, ok := s.Body[0].(bool)
	return ok && !starting
}
