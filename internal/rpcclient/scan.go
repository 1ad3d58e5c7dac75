package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// DefaultPorts are the ports on which the client may listen, in the order of preference
// (rule R2).
var DefaultPorts = []int{6463, 6464, 6465, 6466, 6467, 6468, 6469, 6470, 6471, 6472, 6473}

type probed struct {
	i    int
	peer *peer
	err  error
}

// scan probes all ports at once, so that one which accepts and never answers costs no more
// than timeout in all, and returns the first of the list that proves to be a client. It does
// not wait for ports behind that one. (Rules R1, R2, R14.)
func scan(ctx context.Context, timeout time.Duration, ports []int, who target, transports []Transport) (*peer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	results := make(chan probed, len(ports))
	for i, port := range ports {
		t := who
		t.port, t.addr = port, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		go func() {
			p, err := probe(ctx, t, transports)
			results <- probed{i, p, err}
		}()
	}
	got := make([]*probed, len(ports))
	next := 0
	for received := 0; received < len(ports); received++ {
		r := <-results
		got[r.i] = &r
		for next < len(ports) && got[next] != nil && got[next].peer == nil {
			next++
		}
		if next < len(ports) && got[next] != nil {
			cancel()
			go discard(results, len(ports)-received-1)
			return chosen(got, next), nil
		}
	}
	cancel()
	return nil, scanError(ports, got)
}

// chosen returns the peer at i and lets go of the others.
func chosen(got []*probed, i int) *peer {
	for j, r := range got {
		if j != i && r != nil {
			r.peer.discard()
		}
	}
	return got[i].peer
}

// discard takes the n results that nobody waited for.
func discard(results <-chan probed, n int) {
	for range n {
		r := <-results
		r.peer.discard()
	}
}

// scanError says what was tried, and which ports are held by others.
func scanError(ports []int, got []*probed) error {
	var held []string
	var refusal *Error
	for i, r := range got {
		if errors.As(r.err, &refusal) {
			return fmt.Errorf("port %d: %w", ports[i], r.err)
		}
		if !errors.Is(r.err, ErrNoClient) {
			held = append(held, strconv.Itoa(ports[i]))
		}
	}
	where := fmt.Sprintf("ports %d to %d of 127.0.0.1", ports[0], ports[len(ports)-1])
	if len(ports) == 1 {
		where = fmt.Sprintf("port %d of 127.0.0.1", ports[0])
	}
	if len(held) == 0 {
		return fmt.Errorf("%w on %s", ErrNoClient, where)
	}
	return fmt.Errorf("%w on %s (another program holds %s)", ErrNoClient, where, strings.Join(held, ", "))
}
