package control

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// handOver answers when this agent has let go of clients and locks. It takes them back if the connection ends before handedOver.
func (s *Server) handOver(w http.ResponseWriter, r *http.Request) {
	var request HandoverRequest
	body, ok := s.readJSON(w, r)
	if !ok {
		return
	}
	if err := json.Unmarshal(body, &request); err != nil {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "$: %v", err))
		return
	}
	s.withoutTimeLimit(w)
	c := connOf(r)
	request.PID = peerPID(c.Conn)
	answer, err := s.backend.HandOver(r.Context(), request, c.holder)
	if err != nil {
		s.refuse(w, problemOf(err))
		return
	}
	c.hold()
	s.sendJSON(w, http.StatusOK, answer)
}

// handedOver comes over the same connection, when the other agent has all that this one had.
func (s *Server) handedOver(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	if err := s.backend.HandedOver(connOf(r).holder); err != nil {
		s.refuse(w, problemOf(err))
		return
	}
	s.send(w, http.StatusNoContent, "", nil)
}

// upgrade answers when the program that was started goes on in place of this one.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	s.withoutTimeLimit(w)
	if err := s.backend.Upgrade(r.Context()); err != nil {
		s.refuse(w, problemOf(err))
		return
	}
	s.send(w, http.StatusNoContent, "", nil)
}

// withoutTimeLimit takes the time limit from a request whose answer may take minutes.
func (s *Server) withoutTimeLimit(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// MaxUpgrade is how long Upgrade, and HandOver, may take: the next program reads everything, and the client may have to be waited for.
const MaxUpgrade = 3 * time.Minute

// Upgrade has the agent start its program anew, as it is on disk now, and that go on in place of the agent. A *Problem says why it does
// not; then the agent goes on.
func (c *Client) Upgrade(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, MaxUpgrade)
	defer cancel()
	return call(ctx, &c.handoverClient().http, http.MethodPost, "/v1/upgrade", nil, nil)
}

// HandoverConn is the one connection over which an agent takes over from another one. It is to be closed.
type HandoverConn struct{ conn *PushConn }

// HandoverConn prepares a handover.
func (c *Client) HandoverConn() HandoverConn { return HandoverConn{c.handoverClient().PushConn()} }

// Close ends it.
func (h HandoverConn) Close() error { return h.conn.Close() }

// HandOver has the agent let go of everything, for the process that asks. If that does not say HandedOver before the connection ends, the
// agent takes it back.
func (h HandoverConn) HandOver(ctx context.Context, r HandoverRequest) (answer Handover, err error) {
	ctx, cancel := context.WithTimeout(ctx, MaxUpgrade)
	defer cancel()
	return answer, ask(ctx, &h.conn.http, http.MethodPost, "/v1/handover", r, &answer)
}

// HandedOver says that this process has taken over all that the agent had, which ends now.
func (h HandoverConn) HandedOver(ctx context.Context) error {
	return call(ctx, &h.conn.http, http.MethodPost, "/v1/handover/done", nil, nil)
}
