// Package ipc is how programs of this machine reach each other: the sockets, pipes and ports of clients and whose they
// are, and the socket of the local API with its locks.
package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"
	"unicode"
)

const (
	// ipcNumbers is how many sockets clients try in a folder, from 0 on (rule R7).
	ipcNumbers = 10
	// ipcDialTimeout bounds a Dial whose context has no deadline.
	ipcDialTimeout = 5 * time.Second
)

// socketName is the name of a client's socket in its folder (rule R7).
func socketName(number int) string { return fmt.Sprintf("discord-ipc-%d", number) }

// dialContext gives ctx a deadline if it has none.
func dialContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, ipcDialTimeout)
}

// dialHint is what a reason why a client cannot be dialled means, and what to do.
type dialHint struct {
	reason error
	hint   string
}

// dialError says why what, a client's socket or pipe, cannot be dialled. The first hint that fits counts.
func dialError(what string, err error) error {
	err = withoutPath(err)
	for _, h := range dialHints {
		if errors.Is(err, h.reason) {
			return fmt.Errorf("client's %s: %w: %s", what, err, h.hint)
		}
	}
	return fmt.Errorf("client's %s: %w", what, err)
}

// withoutPath is an error of dialling without the path, for a text that has it already.
func withoutPath(err error) error {
	var socket *net.OpError
	var pipe *fs.PathError
	switch {
	case errors.As(err, &socket):
		return socket.Err
	case errors.As(err, &pipe):
		return pipe.Err
	}
	return err
}

// programName makes the name that a program gave itself fit for a terminal.
func programName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.TrimSuffix(name, "\n"))
}
