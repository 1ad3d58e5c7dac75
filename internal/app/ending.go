package app

// An Ending is how an agent ends, for whoever looks after it and decides what is started next.
type Ending string

// The endings.
const (
	EndsByItself    Ending = "by itself"    // as it was told, or with the error of Run
	EndsWithSession Ending = "with session" // Windows has said that the user's session ends
	EndsSucceeded   Ending = "succeeded"    // a process that it has started goes on in its place
	EndsReplaced    Ending = "replaced"     // another's does
)

// endingOf is how an agent in that state would end now. Where another one goes on, it goes on also over a session's end that is called off:
// nothing that comes later, as while this one still waits for a driver, changes that.
func endingOf(s handoverState, own, sessionEnds bool) Ending {
	switch {
	case s == replaced && own:
		return EndsSucceeded
	case s == replaced:
		return EndsReplaced
	case sessionEnds:
		return EndsWithSession
	default:
		return EndsByItself
	}
}

// Ending is how this agent ends, if it does now.
func (a *App) Ending() Ending {
	a.next.mu.Lock()
	defer a.next.mu.Unlock()
	return endingOf(a.next.state, a.next.own, a.next.sessionEnds)
}

// endWithSession notes that the user's session ends.
func (s *succession) endWithSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionEnds = true
}
