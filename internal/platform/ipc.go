package platform

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Process is the owner of a socket, as far as the OS tells.
type Process struct {
	PID  int    // 0: unknown
	UID  string // user id (Linux, macOS: decimal uid; Windows: SID); "": unknown
	Name string // short name of the program, chosen by itself; "": unknown
}

// Listener is a TCP port of this machine on which somebody accepts connections that lead to
// 127.0.0.1.
type Listener struct {
	Port    int
	ID      uint64 // differs after the owner has closed the port and opened it again (Linux: the socket's inode); 0: unknown
	Process        // who opened it
}

// IPCSocket is a file (Windows: a pipe) on which a client may listen.
type IPCSocket struct {
	Path string
	ID   string // differs after it was removed and created anew (Linux, macOS: dev:inode:ctime in ns); "": unknown
}

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
