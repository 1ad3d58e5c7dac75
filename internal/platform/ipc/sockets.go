// Package ipc is how programs of this machine reach each other: the sockets, pipes and ports of clients and whose they
// are, and the socket of the local API with its locks.
package ipc

import (
	"context"
	"fmt"
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

// programName makes the name that a program gave itself fit for a terminal.
func programName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.TrimSuffix(name, "\n"))
}
