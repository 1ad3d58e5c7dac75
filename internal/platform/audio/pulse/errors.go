package pulse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrClosed is what Err returns after Close.
var ErrClosed = errors.New("connection closed by this side")

// errMalformed is wrapped by every error about data that breaks the protocol.
var errMalformed = errors.New("malformed data from the sound server")

// ServerError is a refusal sent by the server. The connection stays usable.
type ServerError uint32

// The refusals that callers tell apart.
const (
	ErrAccess   ServerError = 1 // not allowed to connect or to do this
	ErrNoEntity ServerError = 5 // no such device, card or module (any more)
	ErrAuthKey  ServerError = 9 // no authentication key
)

// refusals are the meanings of the protocol's error numbers.
var refusals = [...]string{
	"no error", "access denied", "unknown command", "invalid argument", "entity exists", "no such entity",
	"connection refused", "protocol error", "timeout", "no authentication key", "internal error",
	"connection terminated", "entity killed", "invalid server", "module initialization failed", "bad state",
	"no data", "incompatible protocol version", "too large", "not supported", "unknown error", "no such extension",
	"obsolete functionality", "missing implementation", "client forked", "input/output error", "device or resource busy",
}

// Error names the refusal.
func (e ServerError) Error() string {
	if int(e) < len(refusals) {
		return "the sound server refused: " + refusals[e]
	}
	return "the sound server refused: error " + strconv.FormatUint(uint64(e), 10)
}

// explain adds to err what was tried, on which socket, and what the user can do.
func explain(what, address string, err error) error {
	var hint string
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		hint = " (no answer: the sound server hangs or is overloaded; restart it, " +
			"for example: systemctl --user restart pipewire-pulse, or: pulseaudio --kill)"
	case errors.Is(err, ErrAccess), errors.Is(err, ErrAuthKey):
		hint = " (run as the user who owns the sound server, or set PULSE_COOKIE to its cookie file)"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		hint = " (the sound server ended the connection)"
	}
	return fmt.Errorf("pulse: %s on %s: %w%s", what, address, err, hint)
}
