// Package broadcast receives the messages that Windows sends to all top-level windows: sleep, the end of the session, changes of settings
// and devices.
//
// Message-only windows do not get them. So while there are subscriptions, the process has one invisible top-level window with a thread of
// its own.
package broadcast
