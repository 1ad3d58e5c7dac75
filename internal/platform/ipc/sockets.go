// Package ipc connects the programs of this machine: the sockets, pipes and ports of clients and who owns them, and the socket of the
// local API with its locks.
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
	// ipcNumbers is how many socket names clients try in a folder, from 0 (rule R7).
	ipcNumbers = 10
	// ipcDialTimeout bounds a Dial whose context has no deadline.
	ipcDialTimeout = 5 * time.Second
)

// socketName is the file name of a client's socket (rule R7).
func socketName(number int) string { return fmt.Sprintf("discord-ipc-%d", number) }

// dialContext gives ctx a deadline if it has none.
func dialContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, ipcDialTimeout)
}

// dialHint explains an error of dialling a client.
type dialHint struct {
	reason error
	hint   string
}

// dialError explains why what, a client's socket or pipe, cannot be dialled. The first matching hint is used.
func dialError(what string, err error) error {
	err = withoutPath(err)
	for _, h := range dialHints {
		if errors.Is(err, h.reason) {
			return fmt.Errorf("client's %s: %w: %s", what, err, h.hint)
		}
	}
	return fmt.Errorf("client's %s: %w", what, err)
}

// withoutPath strips the path from a dialling error, for a text that already has it.
func withoutPath(err error) error {
	if socket, ok := errors.AsType[*net.OpError](err); ok {
		return socket.Err
	}
	if pipe, ok := errors.AsType[*fs.PathError](err); ok {
		return pipe.Err
	}
	return err
}

// programName makes the name that a program gave itself safe for a terminal.
func programName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.TrimSuffix(name, "\n"))
}
