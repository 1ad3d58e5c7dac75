// Package wasapitest stands in for Windows' Core Audio within the process of a test, and has what Wine's lacks: containers, mutes set by
// other programs, plugging, effects, and failures of every kind. It tests how we call and are called, not Windows.
package wasapitest

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/com"
)

var (
	ole32    = windows.NewLazySystemDLL("ole32.dll")
	register = ole32.NewProc("CoRegisterClassObject")
	revoke   = ole32.NewProc("CoRevokeClassObject")
)

// A Server is the stand-in. There is one at a time in a process.
type Server struct {
	mu        sync.Mutex
	endpoints map[string]*Endpoint
	chosen    map[bool]string // the id of the default, of inputs (true) and outputs
	failures  map[string]com.HRESULT
	before    map[string]func() // called before a call is answered
	calls     map[string]int

	listeners *callbacks // of the enumerator, whose id is ""
	volumes   *callbacks
	effects   *callbacks
}

// Start makes this process find the stand-in where it looks for Core Audio, until the test ends.
func Start(t testing.TB) *Server {
	s := &Server{
		endpoints: make(map[string]*Endpoint), chosen: make(map[bool]string), failures: make(map[string]com.HRESULT),
		before: make(map[string]func()), calls: make(map[string]int),
		listeners: newCallbacks(), volumes: newCallbacks(), effects: newCallbacks(),
	}
	begun, end, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		leave, err := com.Enter()
		if err != nil {
			begun <- err
			return
		}
		defer leave()
		factory := factoryClass().New(s)
		class, cookie := classEnumerator, uint32(0)
		const inProcess, manyUses = 1, 1
		r, _, _ := register.Call(uintptr(unsafe.Pointer(&class)), factory.Pointer(), inProcess, manyUses, uintptr(unsafe.Pointer(&cookie)))
		begun <- com.HRESULT(r).Err()
		<-end
		_, _, _ = revoke.Call(uintptr(cookie))
		factory.Release()
	}()
	require.NoError(t, <-begun)
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	return s
}

// Plug adds an endpoint, or replaces it.
func (s *Server) Plug(e Endpoint) {
	s.mu.Lock()
	_, known := s.endpoints[e.ID]
	s.endpoints[e.ID] = &e
	s.mu.Unlock()
	if known {
		s.tell(onState, e.ID, uintptr(e.state()))
		return
	}
	s.tell(onAdded, e.ID)
}

// Unplug removes an endpoint.
func (s *Server) Unplug(id string) {
	s.Vanish(id)
	s.tell(onRemoved, id)
}

// Vanish removes an endpoint without notifying anybody.
func (s *Server) Vanish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.endpoints, id)
}

// Change changes an endpoint without notifying anybody.
func (s *Server) Change(id string, change func(*Endpoint)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.endpoints[id])
}

// Rename renames an endpoint.
func (s *Server) Rename(id string, name any) {
	s.Change(id, func(e *Endpoint) { e.Name = name })
	s.tell(onProperty, id, uintptr(unsafe.Pointer(&keyName)))
}

// Choose makes an endpoint the default.
func (s *Server) Choose(id string) {
	s.mu.Lock()
	input := s.endpoints[id].isInput()
	s.chosen[input] = id
	s.mu.Unlock()
	text, _ := windows.UTF16PtrFromString(id)
	s.listeners.each("", func(l *com.Object) { _ = l.Call(onDefault, uintptr(flag(input)), 0, uintptr(unsafe.Pointer(text))) })
}

// SetMute mutes an endpoint, as another program would, and notifies its listeners.
func (s *Server) SetMute(id string, mute bool) {
	s.Change(id, func(e *Endpoint) { e.Mute = mute })
	s.Volume(id)
}

// volumeNotice is AUDIO_VOLUME_NOTIFICATION_DATA.
type volumeNotice struct {
	context  com.GUID
	muted    int32
	master   float32
	channels uint32
	volumes  [1]float32
}

// Volume notifies the listeners of an endpoint of its mute, as when its volume has changed.
func (s *Server) Volume(id string) {
	e, _ := s.endpoint(id)
	notice := volumeNotice{muted: int32(flag(e.Mute))}
	s.volumes.each(id, func(c *com.Object) { _ = c.Call(onVolume, uintptr(unsafe.Pointer(&notice))) })
}

// SetEffects changes the effects of an endpoint, and notifies its listeners.
func (s *Server) SetEffects(id string, effects ...Effect) {
	s.Change(id, func(e *Endpoint) { e.Effects = effects })
	s.effects.each(id, func(c *com.Object) { _ = c.Call(onEffects) })
}

// Fail makes a method fail: of all endpoints or, if method is "METHOD ID", of one. com.OK ends that.
func (s *Server) Fail(method string, result com.HRESULT) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = result
}

// Before calls do in each call of a method, before it is answered.
func (s *Server) Before(method string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before[method] = do
}

// Calls returns how often a method was called.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Callbacks returns how many callback objects are registered.
func (s *Server) Callbacks() int { return s.listeners.count() + s.volumes.count() + s.effects.count() }

// enter begins each method. It returns the result of one that is to fail.
func (s *Server) enter(method, id string) com.HRESULT {
	s.mu.Lock()
	s.calls[method]++
	before := s.before[method]
	s.mu.Unlock()
	if before != nil {
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.failures[method+" "+id]; h.Err() != nil {
		return h
	}
	return s.failures[method]
}

func (s *Server) endpoint(id string) (Endpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.endpoints[id]; e != nil {
		return *e, true
	}
	return Endpoint{}, false
}

// tell calls a method of all listeners to endpoints that come and go. Its first argument is an endpoint's id.
func (s *Server) tell(slot int, id string, args ...uintptr) {
	text, _ := windows.UTF16PtrFromString(id)
	s.listeners.each("", func(l *com.Object) { _ = l.Call(slot, append([]uintptr{uintptr(unsafe.Pointer(text))}, args...)...) })
}
