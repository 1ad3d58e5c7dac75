package tray

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

// TestAnAgentThatAppears is shown at once, each time, and one that has gone, too: nothing is asked for in between.
func TestAnAgentThatAppears(t *testing.T) {
	address := ipctest.Folder(t)
	seen := make(chan agentState, 99)
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, address) })
	followed, ctx := make(chan error), t.Context()
	ctx, end := context.WithCancel(ctx)
	go func() {
		followed <- follow(ctx, address, client, func(change func(*view)) {
			var v view
			change(&v)
			seen <- v.Agent
		})
	}()
	sees := func(want agentState) {
		testlab.Eventually(t, string(want), func() bool { return len(seen) > 0 })
		require.Equal(t, want, <-seen)
	}
	a := newAgent(t, address)
	for range 2 {
		sees(agentDown)
		a.start()
		sees(agentUp)
		a.stop()
	}
	end()
	require.NoError(t, <-followed)
}
