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

// Proof says how a port's owner proved to be a client. Names and ids of devices go to no one
// who has not (rule R10).
type Proof string

// The proofs, in the order in which they are asked for.
const (
	ProofFingerprint Proof = "fingerprint" // GET / is answered as only the client does; costs it nothing (rule R8)
	ProofReady       Proof = "ready"       // its WebSocket says READY (rule R11)
	ProofAnswer      Proof = "answer"      // it answers an empty device list as the specification says (rule R12)
)

// proven is a port whose owner is a client. link is what proving it opened, if anything.
type proven struct {
	target
	proof  Proof
	link   link
	over   Transport // of link
	counts bool      // it may be the client itself, which counts tokens (rule R67)
}

func (p *proven) discard() {
	if p != nil && p.link != nil {
		p.link.close()
	}
}

// probe finds out whether target is a client. ctx bounds the whole of it; the free proof may
// take half of that time at most, so that a server which never answers GET can still greet.
func probe(ctx context.Context, t target, transports []Transport) (*proven, error) {
	err := fingerprint(ctx, t)
	if err == nil {
		return &proven{target: t, proof: ProofFingerprint, counts: true}, nil
	}
	counts := !errors.Is(err, errOtherAnswer) // who did not answer in time may be
	if errors.Is(err, ErrNoClient) {
		return nil, err
	}
	refused := fmt.Errorf("%s: %w", t.addr, ErrNotRPC)
	for _, tr := range transports {
		switch tr {
		case WebSocket:
			var l *wsLink
			if l, err = openWebSocket(ctx, t); err == nil {
				return &proven{t, ProofReady, l, tr, counts}, nil
			}
		case HTTP:
			var l *httpLink
			if l, err = proveByAnswer(ctx, t); err == nil {
				l.proofs, l.counts = transports, counts
				return &proven{t, ProofAnswer, l, tr, counts}, nil
			}
		}
		var refusal *Error
		if errors.As(err, &refusal) {
			refused = err // it speaks like a client: the reason is worth telling
		}
	}
	return nil, refused
}

// fingerprintBody is what the client says to every path that it does not know.
const fingerprintBody = `{"code":0,"message":"Not Found"}`

// maxFingerprint bounds what is read of a port's owner that may be anything, in bytes: the
// client's answer is some hundred. A header need not have an end.
const maxFingerprint = 8 << 10

// fingerprint asks for the free proof. ErrNoClient means that nobody listens.
func fingerprint(ctx context.Context, t target) error {
	conn, err := t.connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	defer conn.Close()
	until := time.Now().Add(time.Second)
	if deadline, ok := ctx.Deadline(); ok {
		until = time.Now().Add(time.Until(deadline) / 2)
	}
	_ = conn.SetDeadline(until)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+t.addr+"\r\nConnection: close\r\n\r\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(conn, maxFingerprint), 512), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRPC, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(len(fingerprintBody)+1)))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRPC, err)
	}
	if resp.StatusCode != http.StatusNotFound || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || string(body) != fingerprintBody {
		return errOtherAnswer
	}
	return nil
}

// errOtherAnswer is that of a server which answers, but not as the client does.
var errOtherAnswer = fmt.Errorf("%w: it answers GET / in its own way", ErrNotRPC)

// proveByAnswer sends an empty list to a server that follows only the specification's HTTP
// recipe. It tells nothing but the application id. An answer to the command is proof, even one
// that refuses it; an HTTP error with a code and a message is not: many servers send those
// (rule R12).
func proveByAnswer(ctx context.Context, t target) (*httpLink, error) {
	l, err := openHTTP(ctx, t, nil, false)
	if err != nil {
		return nil, err
	}
	nonce, payload, err := encode(nil)
	if err == nil {
		err = l.deliver(ctx, nonce, payload)
	}
	if err != nil && !errors.Is(err, &Error{Phase: PhaseCommand}) {
		l.close()
		return nil, err
	}
	return l, nil
}
