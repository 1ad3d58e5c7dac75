package control

import (
	"context"
	"net/http"
	"time"
)

// MaxUpgrade is how long Upgrade and HandOver may take: the new program reads everything, and may have to wait for the client.
const MaxUpgrade = 3 * time.Minute

// Upgrade has the agent start its program again, as it is on disk now, and hand over to it. A *Problem says why that failed; then the
// agent goes on.
func (c *Client) Upgrade(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, MaxUpgrade)
	defer cancel()
	return c.handoverClient().post(ctx, "/v1/upgrade")
}

// HandoverConn is the one connection over which an agent takes over from another one. The caller closes it.
type HandoverConn struct{ *PushConn }

// HandoverConn prepares a handover.
func (c *Client) HandoverConn() HandoverConn { return HandoverConn{c.handoverClient().PushConn()} }

// HandOver has the agent let go of everything. It takes it back if the connection ends before HandedOver is called.
func (h HandoverConn) HandOver(ctx context.Context, r HandoverRequest) (answer Handover, err error) {
	ctx, cancel := context.WithTimeout(ctx, MaxUpgrade)
	defer cancel()
	return answer, call(ctx, &h.http, http.MethodPost, "/v1/handover", r, &answer)
}

// HandedOver tells the agent that this process has taken over everything. That ends the agent.
func (h HandoverConn) HandedOver(ctx context.Context) error {
	return call(ctx, &h.http, http.MethodPost, "/v1/handover/done", nil, nil)
}
