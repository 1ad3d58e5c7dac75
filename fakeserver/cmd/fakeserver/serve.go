package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"sidetone/fakeserver"
	"sidetone/fakeserver/page"
)

// flushTimeout is how long the last lines may take to be read: the reader of stdout may have
// stopped reading.
const flushTimeout = time.Second

// serve runs servers until the context ends, quit is read or stdout fails.
func serve(ctx context.Context, clients []fakeserver.Options, addr string, print format, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	payloads := make(chan received, 1024)
	for i := range clients {
		name := ""
		if len(clients) > 1 {
			name = clients[i].Name
		}
		clients[i].OnPayload = func(p fakeserver.Payload) { forward(ctx, payloads, received{name, p}) }
	}
	servers, err := startAll(clients)
	if err != nil {
		return err
	}
	if addr != "" {
		p, err := page.Start(addr, servers...)
		if err != nil {
			closeAll(servers)
			return err
		}
		defer func() { _ = p.Close() }()
		fmt.Fprintf(stderr, "page at %s\n", p.URL())
	}
	printed := make(chan error, 1)
	go func() { printed <- printAll(stdout, print, payloads) }()
	for _, srv := range servers {
		fmt.Fprintf(stderr, "%slistening on %s\n", label(srv), srv.Address())
	}

	c := console{servers: servers, out: stderr}
	err = handleLines(ctx, c, readLines(ctx, stdin), printed)
	cancel()
	closeAll(servers)
	close(payloads)
	if err != nil {
		return err
	}
	select {
	case err := <-printed:
		return err
	case <-time.After(flushTimeout):
		return nil
	}
}

// startAll starts all servers, or none.
func startAll(clients []fakeserver.Options) ([]*fakeserver.Server, error) {
	var servers []*fakeserver.Server
	for _, opts := range clients {
		srv, err := fakeserver.Start(opts)
		if err != nil {
			closeAll(servers)
			if opts.Name != "" {
				err = fmt.Errorf("%s: %w", opts.Name, err)
			}
			return nil, err
		}
		servers = append(servers, srv)
	}
	return servers, nil
}

func closeAll(servers []*fakeserver.Server) {
	for _, srv := range servers {
		_ = srv.Close()
	}
}

// forward hands a payload on. It must not block the end if nobody reads stdout.
func forward(ctx context.Context, payloads chan<- received, r received) {
	select {
	case payloads <- r:
		return
	default: // stdout is slow
	}
	select {
	case payloads <- r:
	case <-ctx.Done():
	}
}

// handleLines executes the lines of stdin until it is time to end.
func handleLines(ctx context.Context, c console, lines <-chan string, printed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-printed:
			return err
		case line, ok := <-lines:
			if !ok {
				lines = nil // stdin has ended: go on serving
			} else if !c.execute(line) {
				return nil
			}
		}
	}
}

// readLines ends with the context, or when the current read returns.
func readLines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			select {
			case lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
