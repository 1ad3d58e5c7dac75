package broadcast

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/windows"
)

// The messages that are listened to, of winuser.h.
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

// Message is what Windows sends to the window.
type Message struct {
	ID    uint32
	Param uintptr // wParam
	Data  uintptr // lParam
}

// A Handler is called on the window's thread: nothing else is heard until it returns. handled says that answer counts, and not the
// system's own.
type Handler func(Message) (answer uintptr, handled bool)

// A Subscription is to some messages, until it is closed.
type Subscription struct {
	ids    []uint32
	window windows.HWND

	mu     sync.Mutex // held while handle runs
	handle Handler    // nil: closed
}

// hub is the window and who listens to it.
var hub struct {
	opening sync.Mutex // held while the window is opened or closed; its thread does not wait for that
	window  *window    // nil: nobody listens

	mu            sync.Mutex
	subscriptions []*Subscription
}

// Subscribe has handle called for the messages of those ids. Where two handle one message, the answer is that of the first.
func Subscribe(handle Handler, ids ...uint32) (*Subscription, error) {
	hub.opening.Lock()
	defer hub.opening.Unlock()
	if hub.window == nil {
		w, err := openWindow(dispatch)
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

// Window is the window, for what has to be registered with one.
func (s *Subscription) Window() windows.HWND { return s.window }

// Do has task called on the window's thread, and does not wait for that. It must not be called after Close. While a task shows a menu,
// others are called, and messages are heard.
func (s *Subscription) Do(task func()) error {
	return (&window{handle: s.window}).do(task)
}

// Close ends the subscription. Its handler, which must not call it, is not called any more when it returns.
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

// dispatch gives a message to all who listen to it.
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

var shutdownOrder = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetProcessShutdownParameters")

// The ranks in which programs are told of the end of the session, the highest first. Others have 0x280. Each that agrees is ended before
// the next rank is asked, and the user may call the end off at any.
const (
	endFirst = 0x3ff
	endLast  = 0x100
)

// EndFirst has Windows tell this process of the end of the session before others.
func EndFirst() { setOrder(endFirst) }

// EndLast has Windows tell this process of it after others: it is still there where one of those has the user call it off.
func EndLast() { setOrder(endLast) }

func setOrder(rank uintptr) { _, _, _ = shutdownOrder.Call(rank, 0) }
