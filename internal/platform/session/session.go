// Package session identifies the user and log-in session of this process.
package session

// Events are callbacks for the log-in session, called one at a time.
type Events struct {
	// Returned: the user is back, after the screen was locked or another user's session was active.
	Returned func()
	// Ending: this process is to end. With now, Windows may end it with the session as soon as this returns; else an installer wants to
	// replace its program, and waits for its end.
	Ending func(now bool)
}
