package app

// An Ending is how an agent ends, for its supervisor, which decides what is started next.
type Ending string

// The endings.
const (
	EndsByItself    Ending = "by itself"    // as it was told, or with the error of Run
	EndsWithSession Ending = "with session" // Windows has said that the user's session ends
	EndsSucceeded   Ending = "succeeded"    // a process that it has started has taken over
	EndsReplaced    Ending = "replaced"     // another process has
)

// endingOf returns how an agent in that state would end now. Once another one has taken over, nothing that comes later changes the answer,
// not even a session that ends, or whose end is called off, while this agent still waits for a driver.
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

// Ending returns how this agent would end now.
func (a *App) Ending() Ending {
	a.handover.mu.Lock()
	defer a.handover.mu.Unlock()
	return endingOf(a.handover.state, a.handover.own, a.handover.sessionEnds.Load())
}
