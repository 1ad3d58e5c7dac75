package rpcclient

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/session"
)

// TestEveryReasonIsRecorded: what a client may answer, and where none is found, for the test that says it in every language.
func TestEveryReasonIsRecorded(t *testing.T) {
	errs := []error{errNoOrigin, session.ErrUnsupported, link.ErrNoClient, link.ErrNoAnswer, link.ErrLost, fmt.Errorf("port 6463: %w", link.ErrNotRPC), errors.New("dial: refused")}
	for code := range link.CodeNotAuthorized + 1 {
		for _, phase := range []link.Phase{link.PhaseConnect, link.PhaseCommand} {
			err := &link.Refusal{Phase: phase, Code: code, Message: "Invalid Client ID"}
			if err.Health() != health.Unexplained {
				errs = append(errs, err)
			}
		}
	}
	for _, err := range errs {
		require.NotNil(t, reasonOf(err))
		healthtest.Raised(t, *reasonOf(err))
	}
	for _, at := range []location{{socket: local.Socket{Path: "/run/user/1000/discord-ipc-0"}}, {Process: local.Process{UID: "1001"}}} {
		healthtest.Raised(t, *(&peer{location: at}).foreignReason("1000"))
	}
	for _, ports := range [][]int{nil, {6463}, {6463, 6464}} {
		c := &Client{}
		c.options.Store(&Options{Ports: ports, Transports: []Transport{IPC, WebSocket, HTTP}})
		for _, held := range [][]string{nil, {"6463"}, {"6463", "6464"}} {
			healthtest.Raised(t, c.noClientError(held).Condition)
		}
	}
	o := &sessionObserver{Client: &Client{}}
	o.options.Store(&Options{TokenEvery: 30 * time.Second})
	healthtest.Raised(t, *o.overHTTP(""), *o.overHTTP("refused"))
}
