package fakeserver

import (
	"bufio"
	"io"
	"net/http"

	"sidetone/fakeserver/internal/ipcframe"
)

// serveBlackholeHTTP reads and records what a peer sends over TCP, and never
// answers. It drops what is not HTTP.
func (s *Server) serveBlackholeHTTP(c *conn) {
	defer c.Close()
	bounded := &io.LimitedReader{R: c}
	r := bufio.NewReader(bounded)
	for {
		bounded.N = maxHeader + maxMessage
		req, err := http.ReadRequest(r)
		if err != nil {
			break
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			break
		}
		if req.Method != http.MethodPost {
			s.count(&s.stats.Probes)
			continue
		}
		p := Payload{Time: c.readAt(), Transport: HTTP, Conn: c.id, ClientID: req.URL.Query().Get("client_id"), Raw: body}
		s.recordUnread(p, FaultNone, "profile blackhole: not taken")
	}
	_, _ = io.Copy(io.Discard, c)
}

// serveBlackholeIPC does the same over IPC.
func (s *Server) serveBlackholeIPC(c *conn) {
	clientID := ""
	for {
		h, err := ipcframe.ReadHeader(c)
		if err != nil {
			return
		}
		body, err := ipcframe.ReadBody(c, h, maxMessage)
		if err != nil {
			break
		}
		switch h.Op {
		case ipcframe.Handshake:
			s.count(&s.stats.Handshakes)
			fields, _ := decode(body)
			if id, ok := fields["client_id"].(string); ok {
				clientID = id
			}
		case ipcframe.Frame:
			p := Payload{Time: c.readAt(), Transport: IPC, Conn: c.id, ClientID: clientID, Raw: body}
			s.recordUnread(p, FaultNone, "profile blackhole: not taken")
		}
	}
	_, _ = io.Copy(io.Discard, c)
}
