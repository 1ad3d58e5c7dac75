package link

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

// fingerprintBody is the client's answer for every path that it does not know.
const fingerprintBody = `{"code":0,"message":"Not Found"}`

// maxFingerprint bounds what is read from an unknown server, in bytes: the client's answer has some
// hundred, but a header may be endless.
const maxFingerprint = 8 << 10

// Fingerprint asks for the free proof. ErrNoClient means that nobody listens.
func Fingerprint(ctx context.Context, t Target, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := t.connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+t.Addr()+"\r\nConnection: close\r\n\r\n"); err != nil {
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
	isJSON := strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
	if resp.StatusCode != http.StatusNotFound || !isJSON || string(body) != fingerprintBody {
		return ErrOtherAnswer
	}
	return nil
}

// ProveByAnswer sends an empty list to a server that follows only the specification's HTTP recipe. It reveals nothing but the
// application id. An answer to the command is proof, even a refusal; an HTTP error with a code and a message is none, because many
// servers send those (rule R12). The link that it returns has the server prove itself again by prove.
func ProveByAnswer(ctx context.Context, t Target, prove func(context.Context) error) (Link, error) {
	l, err := openHTTP(ctx, t, nil, false)
	if err != nil {
		return nil, err
	}
	nonce, payload := Encode(nil)
	if err := l.Deliver(ctx, nonce, payload); err != nil && !errors.Is(err, &Refusal{Phase: PhaseCommand}) {
		l.Close()
		return nil, err
	}
	l.prove = prove
	return l, nil
}
