package platform

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
	// ipcDialTimeout bounds a DialIPC whose context has no deadline.
	ipcDialTimeout = 5 * time.Second
)

// ipcName is the name of a client's socket in its folder (rule R7).
func ipcName(number int) string { return fmt.Sprintf("discord-ipc-%d", number) }

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
