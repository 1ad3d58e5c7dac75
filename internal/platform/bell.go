package platform

// A bell is a signal with one slot: ringing never blocks, and all rings before the next wait
// are one.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
