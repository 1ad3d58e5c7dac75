package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"sidetone/fakeserver"
)

// flushTimeout is how long the last lines may take to be read by whoever reads
// stdout, which may have stopped reading.
const flushTimeout = time.Second

// serve runs a server until the context ends, quit is read or stdout fails.
func serve(ctx context.Context, opts fakeserver.Options, s style, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	payloads := make(chan fakeserver.Payload, 1024)
	opts.OnPayload = func(p fakeserver.Payload) {
		select {
		case payloads <- p:
		default: // stdout is slow; when it is not read at all, ending must still be possible
			select {
			case payloads <- p:
			case <-ctx.Done():
			}
		}
	}
	srv, err := fakeserver.Start(opts)
	if err != nil {
		return err
	}
	printed := make(chan error, 1)
	go func() { printed <- printAll(stdout, s, payloads) }()
	fmt.Fprintf(stderr, "listening on 127.0.0.1:%d\n", srv.Port())

	c := console{srv: srv, out: stderr}
	err = loop(ctx, c, readLines(ctx, stdin), printed)
	cancel()
	_ = srv.Close()
	close(payloads)
	if err != nil {
		return err
	}
	return flush(printed)
}

// loop obeys the lines of stdin until it is time to end.
func loop(ctx context.Context, c console, lines <-chan string, printed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-printed:
			return err
		case line, ok := <-lines:
			if !ok {
				lines = nil // stdin has ended, which is no reason to stop serving
			} else if !c.obey(line) {
				return nil
			}
		}
	}
}

func flush(printed <-chan error) error {
	select {
	case err := <-printed:
		return err
	case <-time.After(flushTimeout):
		return nil
	}
}

// readLines ends with the context, or when the read that is under way returns.
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
