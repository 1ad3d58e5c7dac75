package link

import (
	"context"
	"net"
	"strings"
	"testing"

	"sidetone/internal/rpcclient/link/linktest"

	"github.com/stretchr/testify/require"
)

// TestPingIsAnswered by a session that is otherwise idle.
func TestPingIsAnswered(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	opened := make(chan Link, 1)
	go func() {
		l, err := OpenIPC(context.Background(), client, clientID)
		require.NoError(t, err)
		opened <- l
	}()
	r := linktest.NewFrames(server)
	next := func() (op uint32, body string) {
		op, text, err := r.Next()
		require.NoError(t, err)
		return op, string(text)
	}
	op, body := next()
	require.Equal(t, uint32(linktest.OpHandshake), op)
	require.JSONEq(t, `{"v":1,"client_id":"`+clientID+`"}`, body)
	require.NoError(t, r.Send(linktest.OpPing, []byte("before READY")))
	op, body = next()
	require.Equal(t, [2]any{uint32(linktest.OpPong), "before READY"}, [2]any{op, body})
	require.NoError(t, r.Send(linktest.OpFrame, []byte(`{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1,"user":{"id":"1"}}}`)))
	l := <-opened
	for _, data := range []string{"", "{}", strings.Repeat("x", 1<<16)} {
		require.NoError(t, r.Send(linktest.OpPing, []byte(data)))
		op, body = next()
		require.Equal(t, [2]any{uint32(linktest.OpPong), data}, [2]any{op, body})
	}
	require.NoError(t, r.Send(linktest.OpClose, []byte(`{"code":1000,"message":"bye"}`)))
	<-l.Lost()
	require.ErrorIs(t, l.Cause(), ErrLost, "a normal close after READY is the client going away")
	l.Close()
}
