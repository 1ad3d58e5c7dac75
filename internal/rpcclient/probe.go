package rpcclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// provenPort is a port whose owner has proved to be a client. Names and ids of devices go to nobody else (rule R10).
type provenPort struct {
	target
	Proof
	link link // opened by the proof; nil: none
}

// Proof is how the owner of a port has proved to be a client.
type Proof struct {
	// Over is the transport whose answer was the proof: a WebSocket's READY (rule R11), or an answer to an empty list over HTTP
	// (rule R12). "" is the fingerprint, the free proof, which costs the client nothing (rule R8).
	Over   Transport `json:"over"`
	Counts bool      `json:"counts,omitempty"` // it may be Discord's own client, which counts tokens (rule R67)
}

func (p *provenPort) close() {
	if p != nil && p.link != nil {
		p.link.close()
	}
}

// prove finds out whether a client holds the port: by the free proof or, where that is missing, over the
// transports in by. It waits for the free proof as long as for any answer, because any other proof costs
// the client a token. Meanwhile other clients go first.
func (c *Client) prove(ctx context.Context, p *peer, at location, by []Transport) (*provenPort, error) {
	defer c.markWhenSlow(p)()
	t := c.target(at)
	free := fingerprint(ctx, t, c.opts().AnswerTimeout)
	switch {
	case free == nil:
		return &provenPort{target: t, Proof: Proof{Counts: true}}, nil
	case errors.Is(free, errNoClient):
		return nil, free
	}
	// The proof that p gave to the agent before this one, used once: asking again would cost the client its list or a token.
	var inherited *Proof
	c.locked(func() { inherited, p.inheritedProof = p.inheritedProof, nil })
	if inherited != nil {
		return &provenPort{target: t, Proof: *inherited}, nil
	}
	if err := c.waitToProbe(ctx, p); err != nil {
		return nil, err
	}
	refused := fmt.Errorf("%w: %s: %w", errNotClient, t.addr(), errNotRPC)
	for _, over := range by {
		l, err := c.proveBy(ctx, p, t, over, free)
		if err == nil {
			proof := Proof{over, mayCountTokens(free)}
			c.locked(func() { p.proof = &proof })
			return &provenPort{t, proof, l}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.As(err, new(*refusalError)) {
			refused = err // it speaks the protocol, and says why it refuses
		}
	}
	return nil, refused
}

// markWhenSlow lets other clients go first if done is not called within ProbeTimeout.
func (c *Client) markWhenSlow(p *peer) (done func()) {
	over := false
	timer := time.AfterFunc(c.opts().ProbeTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !over {
			p.probeIsSlow = true
			c.notifyAll()
		}
	})
	return func() {
		timer.Stop()
		c.locked(func() { over = true })
	}
}

// mayCountTokens reports whether a server that failed to give the free proof with this error may be Discord's
// own client, which counts tokens: it did not answer GET in another way, but late or not at all.
func mayCountTokens(free error) bool { return !errors.Is(free, errOtherAnswer) }

// proveBy asks for a proof that is not free. An empty list is sent only to a server that is certainly not
// Discord's own client, which would take it for its vendor's list: a server that is merely late is asked
// for the free proof again later (rule R12). The answer may take as long as that to any list: in a server
// that queues requests, the next one would only wait behind the one that was given up (rule R88).
func (c *Client) proveBy(ctx context.Context, p *peer, t target, over Transport, free error) (link, error) {
	if mayCountTokens(free) {
		if over == HTTP {
			return nil, free
		}
		if err := c.waitForToken(ctx, p, WebSocket); err != nil {
			return nil, err
		}
		spent := p.bucket.spend(time.Now())
		defer func() { spent(time.Now()) }()
	}
	limit := c.opts().ProbeTimeout
	if over == HTTP {
		limit = c.opts().HTTPTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if over == WebSocket {
		l, err := openWebSocket(ctx, t)
		c.countRefusal(WebSocket, err)
		return l, err
	}
	l, err := proveByAnswer(ctx, t)
	if err == nil || !errors.Is(err, errNotRPC) { // a client may have stored the empty list
		c.resendOthers(p)
	}
	if err != nil {
		return nil, err
	}
	l.prove = c.reprove(p, t, over)
	return l, nil
}

// reprove returns a function that makes the owner of a port prove itself once more, in the same way as before.
func (c *Client) reprove(p *peer, t target, over Transport) func(context.Context) error {
	return func(ctx context.Context) error {
		err := fingerprint(ctx, t, c.opts().AnswerTimeout)
		if err == nil || over == "" {
			return err
		}
		l, err := c.proveBy(ctx, p, t, over, err)
		if err == nil {
			l.close()
		}
		return err
	}
}

// resendOthers sends the list again to all clients but p: the empty list that probed a port may have
// reached one of them, and replaced its list.
func (c *Client) resendOthers(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.peers {
		if q != p {
			q.outbox.askResend()
		}
	}
}

// fingerprintBody is the client's answer for every path that it does not know.
const fingerprintBody = `{"code":0,"message":"Not Found"}`

// maxFingerprint bounds what is read from an unknown server, in bytes: the client's answer has some
// hundred, but a header may be endless.
const maxFingerprint = 8 << 10

// fingerprint asks for the free proof. errNoClient means that nobody listens.
func fingerprint(ctx context.Context, t target, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := t.connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoClient, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+t.addr()+"\r\nConnection: close\r\n\r\n"); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(conn, maxFingerprint), 512), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRPC, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(len(fingerprintBody)+1)))
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRPC, err)
	}
	isJSON := strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
	if resp.StatusCode != http.StatusNotFound || !isJSON || string(body) != fingerprintBody {
		return errOtherAnswer
	}
	return nil
}

// errOtherAnswer means that the server answers GET, but not as the client does.
var errOtherAnswer = fmt.Errorf("%w: it answers GET / in its own way", errNotRPC)

// proveByAnswer sends an empty list to a server that follows only the specification's HTTP
// recipe. It reveals nothing but the application id. An answer to the command is proof, even a
// refusal; an HTTP error with a code and a message is none, because many servers send those
// (rule R12).
func proveByAnswer(ctx context.Context, t target) (*httpLink, error) {
	l, err := openHTTP(ctx, t, nil, false)
	if err != nil {
		return nil, err
	}
	nonce, payload := encode(nil)
	if err := l.deliver(ctx, nonce, payload); err != nil && !errors.Is(err, &refusalError{Phase: phaseCommand}) {
		l.close()
		return nil, err
	}
	return l, nil
}
