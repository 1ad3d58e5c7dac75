package session

// Events are what is to be done when the log-in session tells something. They are called one after another.
type Events struct {
	// Returned: the user is there again, after the screen was locked or another user's session was shown.
	Returned func()
	// Ending: the session ends. The process may be ended as soon as it returns.
	Ending func()
}
