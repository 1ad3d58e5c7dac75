// Package broadcasttest sends messages to the window of package broadcast from another process, as Windows does.
package broadcasttest
