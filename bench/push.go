//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
)

const pushedProduct = "acme-headset-700"

// measurePush pushes the mute over the local API, as a vendor's software does, and measures the time until the client has
// the whole payload.
func measurePush(ctx context.Context, _ *bench, labs []*lab) []row {
	l := labs[0]
	took := inTurns(ctx, 5, l.round(l.agent, overIPC, alternatePushes), l.round(l.pushServer, overIPC, alternatePushes))
	what := "push over a kept connection to payload complete at the client"
	r := took.row(what, 50, "bare server", limit{inAll: time.Millisecond})
	r.note = "Pushes: the bare server is Go's HTTP server on a socket, which decodes the same JSON and writes one of two prepared messages."
	return []row{r}
}

// alternatePushes is alternate over one connection.
func alternatePushes(ctx context.Context, c *child, n int) sample {
	p, err := dialPusher(ctx, c.controlSocket())
	c.check(err)
	defer p.Close()
	seq := 0
	return c.alternate(ctx, n, func(_ context.Context, mute bool) error {
		seq++
		return p.push(seq, muted(mute))
	})
}

// pusher is a vendor's software with one connection. Hand-written HTTP costs the machine less than Go's client.
type pusher struct {
	net.Conn
	in *bufio.Reader
}

func dialPusher(ctx context.Context, socket string) (*pusher, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the local API: %w", err)
	}
	return &pusher{c, bufio.NewReader(c)}, nil
}

func muted(mute bool) string { return fmt.Sprintf(`{"hardware_mute":%t}`, mute) }

// push returns when the push has been answered. It is right that the agent refuses a push that a later one has overtaken.
func (p *pusher) push(seq int, state string) error {
	body := fmt.Sprintf(`{"owner":"bench","seq":%d,"ttl_ms":600000,"state":%s}`, seq, state)
	_ = p.SetDeadline(time.Now().Add(stepLimit))
	_, err := fmt.Fprintf(p, "PUT /v1/states/%s HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", pushedProduct, len(body), body)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	reply, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return fmt.Errorf("the answer to a push: %w", err)
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err != nil {
		return fmt.Errorf("the answer to a push: %w", err)
	}
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusConflict {
		return fmt.Errorf("the answer to a push: %s: %s", reply.Status, said)
	}
	return nil
}

func (l *lab) pushServer(p *place) command {
	return l.bareProgram("bare server", p, pushBare, p.controlSocket())
}

// servePushes reports the mute in each push, in whatever order they come. from holds the path of the socket.
func servePushes(ctx context.Context, b *bare, from []string) error {
	l, err := net.Listen("unix", from[0])
	if err != nil {
		return err
	}
	if err := b.report(false); err != nil {
		return err
	}
	var one sync.Mutex
	answer := func(w http.ResponseWriter, r *http.Request) {
		var p control.PushRequest
		err := json.NewDecoder(r.Body).Decode(&p)
		mute := p.State[devices.HardwareMute]
		if err != nil || mute == nil {
			http.Error(w, "this is no push", http.StatusBadRequest)
			return
		}
		one.Lock()
		err = b.report(*mute)
		one.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"generation":1,"units":1,"clients":1}`)
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: stepLimit}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(l)
}
