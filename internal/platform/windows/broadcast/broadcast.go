// Package broadcast hears what Windows tells all top-level windows: sleep, the end of the session, changes of settings and devices.
//
// Windows that are for messages only are told nothing of that. So a process has one top-level window that nobody sees, with a thread of
// its own, for as long as somebody listens.
package broadcast
