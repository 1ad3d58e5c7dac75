package testlab

import (
	"bytes"
	"sync"
)

// Output keeps what is written to it, as a log or as what a process prints, and wakes who waits
// for more. The zero value is ready; its methods may be called from any goroutine.
type Output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next Write, nil while nobody has asked
}

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(p)
}

// String is all that has been written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Changed is closed when more is written, see Until.
func (o *Output) Changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}
