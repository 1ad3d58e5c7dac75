package broadcast

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/windows"
)

// Messages of winuser.h.
const (
	Close           uint32 = 0x0010 // an installer wants to replace the program
	QueryEndSession uint32 = 0x0011
	EndSession      uint32 = 0x0016
	SettingChange   uint32 = 0x001a
	TimeChange      uint32 = 0x001e
	DisplayChange   uint32 = 0x007e
	PowerBroadcast  uint32 = 0x0218
	DeviceChange    uint32 = 0x0219
	SessionChange   uint32 = 0x02b1
	DPIChanged      uint32 = 0x02e0
)

// Message is a message to the window.
type Message struct {
	ID    uint32
	Param uintptr // wParam
	Data  uintptr // lParam
}

// A Handler is called on the window's thread, which handles no other message meanwhile. handled means that answer is returned instead of
// the system's default.
type Handler func(Message) (answer uintptr, handled bool)

// A Subscription receives some messages until it is closed.
type Subscription struct {
	ids    []uint32
	window windows.HWND

	mu     sync.Mutex // held while handle runs
	handle Handler    // nil: closed
}

// hub holds the window and its subscriptions.
var hub struct {
	opening sync.Mutex // held while the window is opened or closed; its thread never takes it
	window  *window    // nil: there are no subscriptions

	mu            sync.Mutex
	subscriptions []*Subscription
}

// Subscribe calls handle for messages with those ids. If two subscriptions handle a message, the answer of the first counts.
func Subscribe(handle Handler, ids ...uint32) (*Subscription, error) {
	hub.opening.Lock()
	defer hub.opening.Unlock()
	if hub.window == nil {
		w, err := openWindow()
		if err != nil {
			return nil, fmt.Errorf("hear what Windows tells all programs: %w", err)
		}
		hub.window = w
	}
	s := &Subscription{ids: ids, window: hub.window.handle, handle: handle}
	hub.mu.Lock()
	defer hub.mu.Unlock()
	hub.subscriptions = append(hub.subscriptions, s)
	return s, nil
}

// Window returns the window, for registrations that need one.
func (s *Subscription) Window() windows.HWND { return s.window }

// Do has task called on the window's thread, and does not wait for it. It must not be called after Close. While a task shows a menu,
// other tasks and messages are handled.
func (s *Subscription) Do(task func()) error {
	return (&window{handle: s.window}).do(task)
}

// Close ends the subscription. The handler must not call it; it is no longer called when Close returns.
func (s *Subscription) Close() error {
	s.mu.Lock()
	s.handle = nil
	s.mu.Unlock()
	hub.opening.Lock()
	defer hub.opening.Unlock()
	hub.mu.Lock()
	hub.subscriptions = slices.DeleteFunc(hub.subscriptions, func(other *Subscription) bool { return other == s })
	left := len(hub.subscriptions)
	hub.mu.Unlock()
	w := hub.window
	if left > 0 || w == nil {
		return nil
	}
	hub.window = nil
	return w.close()
}

// dispatch passes a message to all its subscriptions.
func dispatch(m Message) (answer uintptr, handled bool) {
	hub.mu.Lock()
	all := slices.Clone(hub.subscriptions)
	hub.mu.Unlock()
	for _, s := range all {
		if !slices.Contains(s.ids, m.ID) {
			continue
		}
		if a, ok := s.call(m); ok && !handled {
			answer, handled = a, true
		}
	}
	return answer, handled
}

func (s *Subscription) call(m Message) (answer uintptr, handled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle == nil {
		return 0, false
	}
	return s.handle(m)
}

// Ranks in the order of shutdown, highest first; the default is 0x280. Programs of one rank that agree to the end are ended before the
// next rank is asked, and the user may cancel it at any point.
const (
	endFirst = 0x3ff
	endLast  = 0x100
)

// EndFirst has Windows announce the end of the session to this process before others.
func EndFirst() { _ = windows.SetProcessShutdownParameters(endFirst, 0) }

// EndLast has Windows announce it to this process after others, so that it still runs if one of them has the user cancel it.
func EndLast() { _ = windows.SetProcessShutdownParameters(endLast, 0) }
