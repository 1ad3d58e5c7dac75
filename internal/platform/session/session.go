// Package session says whose process this is, and of which login session.
package session

// Events are what is to be done when the log-in session tells something. They are called one after another.
type Events struct {
	// Returned: the user is there again, after the screen was locked or another user's session was shown.
	Returned func()
	// Ending: this process is to end. With now it may be ended as soon as this returns, with the session; else an installer wants to replace
	// its program, and waits for the end.
	Ending func(now bool)
}
