package rpcclient

import (
	"errors"
	"log/slog"

	"sidetone/internal/health"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
)

// reasonOf returns err as a condition; nil for a nil error.
func reasonOf(err error) *health.Condition {
	if err == nil {
		return nil
	}
	if known, ok := health.Of(err); ok {
		return &known
	}
	return &health.Wrap(err, codeOf(err), health.Warning, nil).Condition
}

func codeOf(err error) health.Code {
	var refusal *link.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Health()
	case errors.Is(err, errNoOrigin):
		return health.OriginRefused
	case errors.Is(err, session.ErrUnsupported):
		return health.NotCertified
	case errors.Is(err, link.ErrNoClient):
		return health.NobodyThere
	case errors.Is(err, link.ErrNoAnswer):
		return health.NoAnswer
	default:
		return health.Unexplained
	}
}

// remedy returns what to do about err as a log attribute, which is empty if nothing can be done.
func remedy(err error) slog.Attr { return nonEmpty("remedy", remedyOf(reasonOf(err))) }

// nonEmpty returns a log attribute, which is left out if the value is empty.
func nonEmpty(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
}

// isPermanent reports whether the client will refuse in the same way until it restarts.
func isPermanent(err error) bool {
	refusal, ok := errors.AsType[*link.Refusal](err)
	return ok && refusal.IsPermanent()
}

// leavesOtherTransports reports whether another transport of the client is worth a try after err.
func leavesOtherTransports(err error) bool {
	if refusal, ok := errors.AsType[*link.Refusal](err); ok {
		return refusal.Phase == link.PhaseConnect && refusal.Code == link.CodeRateLimited
	}
	for _, e := range []error{link.ErrLost, session.ErrUnsupported, errReconnect, errOwnerChanged} {
		if errors.Is(err, e) {
			return false
		}
	}
	return true
}
