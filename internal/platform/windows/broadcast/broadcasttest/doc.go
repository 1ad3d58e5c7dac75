// Package broadcasttest sends messages to the window for broadcasts as Windows does: from another process.
package broadcasttest
