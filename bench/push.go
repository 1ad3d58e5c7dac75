//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
)

// pushedProduct is what the vendor's software speaks of: the headset of the lab.
const pushedProduct = "acme-headset-700"

// measurePush pushes the mute over the local API, as a vendor's software does, and takes the
// time until the client has the whole payload, in turns to the agent and to a bare server.
func measurePush(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	through := func(start starter) way {
		return func(ctx context.Context) (*driven, error) {
			c, err := start(ctx, l, overIPC)
			if err != nil {
				return nil, err
			}
			return drivenByPushes(ctx, c)
		}
	}
	agent, bare, err := sideBySide(ctx, 5, pick(b, 40, 10), through(b.startAgent), through(b.startPushBare))
	if err != nil {
		return nil, err
	}
	const limit = time.Millisecond
	a, z := agent.percentile(50), bare.percentile(50)
	return []row{{
		figure:   fmt.Sprintf("push over a kept connection to payload complete at the client, p50 of %d", len(agent)),
		measured: fmt.Sprintf("%s (p99 %s, max %s)", ms(a), ms(agent.percentile(99)), ms(agent.max())),
		baseline: fmt.Sprintf("%s (p99 %s, max %s), bare server", ms(z), ms(bare.percentile(99)), ms(bare.max())),
		ratio:    times(ratioOf(a, z)), target: "≤ " + ms(limit), met: a <= limit,
		note:   "Pushes: the bare server is Go's HTTP server on a socket, which decodes the same JSON and writes one of two prepared messages.",
		excuse: "The maxima tell how busy the machine was.",
	}}, nil
}

// drivenByPushes sets the mute by pushes over one connection. It takes over c.
func drivenByPushes(ctx context.Context, c *child) (*driven, error) {
	p, err := dialPusher(ctx, c.controlSocket())
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	seq := uint64(0)
	return &driven{child: c, leave: func() { _ = p.Close() }, set: func(_ context.Context, mute bool) error {
		seq++
		return p.push(seq, muted(mute))
	}}, nil
}

// controlSocket is where the agent of the place has its local API, see settings.
func (p *place) controlSocket() string { return filepath.Join(p.folder, "agent.sock") }

// pusher is a vendor's software with one connection. It talks HTTP by hand, which costs the
// machine less than a client does.
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

// muted is a state for push.
func muted(mute bool) string { return fmt.Sprintf(`{"hardware_mute":%t}`, mute) }

// push returns when the push has been answered. One that a later push has overtaken is refused,
// which is as it should be.
func (p *pusher) push(seq uint64, state string) error {
	body := fmt.Sprintf(`{"owner":"bench","seq":%d,"ttl_ms":600000,"state":%s}`, seq, state)
	request := fmt.Sprintf("PUT /v1/states/%s HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		pushedProduct, len(body), body)
	return within(p.SetDeadline, func() error {
		if _, err := io.WriteString(p, request); err != nil {
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
	})
}

// startPushBare starts the bare server of pushes.
func (b *bench) startPushBare(ctx context.Context, l *lab, s scene) (*child, error) {
	return b.spawnBare(ctx, s, l.payloads, func(p *place) []string { return []string{pushBare, p.controlSocket()} })
}

// servePushes sends a message for each push. from is the path of the socket.
func servePushes(ctx context.Context, b *bare, from []string) error {
	l, err := net.Listen("unix", from[0])
	if err != nil {
		return err
	}
	if err := b.send(false); err != nil {
		return err
	}
	server := &http.Server{Handler: &barePushes{client: b}, ReadHeaderTimeout: stepLimit}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(l)
}

// barePushes sends a message for each push, in whatever order they come.
type barePushes struct {
	mu     sync.Mutex
	client *bare
}

func (s *barePushes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var p control.PushRequest
	err := json.NewDecoder(r.Body).Decode(&p)
	mute := p.State[devices.HardwareMute]
	if err != nil || mute == nil {
		http.Error(w, "this is no push", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	err = s.client.send(*mute)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"generation":1,"units":1,"clients":1}`)
}
