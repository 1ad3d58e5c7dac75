package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"sidetone/internal/engine"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
)

// Record writes a recording of the Engine, and of what happens with clients.
func (a *App) Record(ctx context.Context, write func(lines []byte) error) error {
	r := newRecordBuffer()
	stop, ended := a.engine.Record(ProgramName(a.opts.Host)+" "+a.opts.Version, r.put)
	defer stop()
	defer a.report.hub.add(r)()
	var changed <-chan struct{}
	for running := true; running; {
		if changed == nil {
			changed = a.report.Changed()
			r.sessions(a.report.Status().Sessions)
		}
		select {
		case <-changed:
			changed = nil
		case <-r.more:
		case <-ctx.Done():
			stop()
			running = false
		case <-ended:
			running = false
		}
		if err := r.drain(write); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxWaiting is how many records may wait for the reader of a recording: a few seconds of a device
	// that reports a thousand times a second.
	maxWaiting = 8192
	// chunkSize is about how many bytes are written at a time.
	chunkSize = 32 << 10
)

var errLost = errors.New("whoever took the recording was too slow, and later records were lost")

// recordBuffer stands between the Engine, which does not wait, and the reader of a recording.
type recordBuffer struct {
	more    signal.Signal            // something is waiting
	last    engine.Span              // time of the last record that was written, on the recording's clock
	clients map[string]engine.Client // the last record of each session, by the client's address

	mu      sync.Mutex
	began   time.Time // when the recording's clock was zero
	waiting []engine.Record
	lost    bool // one did not fit: no more will be written than is waiting
	ended   bool // the last one has come
}

func newRecordBuffer() *recordBuffer {
	return &recordBuffer{more: signal.New(), clients: make(map[string]engine.Client)}
}

// put adds a record. It never waits.
func (r *recordBuffer) put(rec engine.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return
	case rec.Header != nil:
		r.began = time.Now()
	case rec.Client != nil:
		rec.T = engine.Span(time.Since(r.began))
	}
	if len(r.waiting) < maxWaiting {
		r.waiting, r.ended = append(r.waiting, rec), rec.End != nil
	} else {
		r.lost = true
	}
	r.more.Notify()
}

// drain writes everything that is waiting. errLost means that nothing will follow, and that the recording says so.
func (r *recordBuffer) drain(write func(lines []byte) error) error {
	r.mu.Lock()
	waiting, lost := r.waiting, r.lost
	r.waiting = nil
	r.mu.Unlock()
	for _, rec := range waiting {
		r.last = max(r.last, rec.T)
	}
	if lost {
		waiting = append(waiting, engine.Record{T: r.last, End: &engine.End{Error: errLost.Error()}})
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	out.SetEscapeHTML(false)
	for i, rec := range waiting {
		if err := out.Encode(rec); err != nil {
			return err
		}
		if lines.Len() < chunkSize && i < len(waiting)-1 {
			continue
		}
		if err := write(lines.Bytes()); err != nil {
			return err
		}
		lines.Reset()
	}
	if lost {
		return errLost
	}
	return nil
}

// delivered notes that a client has accepted a list.
func (r *recordBuffer) delivered(d rpcclient.Delivery) {
	r.put(engine.Record{Client: &engine.Client{
		Event: "delivered", To: d.To.String(), Generation: d.Snapshot.Generation, RoundTrip: engine.Span(d.RoundTrip),
	}})
}

// sessions notes what has changed since the last call.
func (r *recordBuffer) sessions(list []rpcclient.Session) {
	now := make(map[string]engine.Client, len(list))
	for _, s := range list {
		c := engine.Client{Event: string(s.State), To: s.String(), Error: s.Error}
		now[c.To] = c
		if r.clients[c.To] != c {
			r.put(engine.Record{Client: &c})
		}
	}
	for to := range r.clients {
		if _, still := now[to]; !still {
			r.put(engine.Record{Client: &engine.Client{Event: "gone", To: to}})
		}
	}
	r.clients = now
}

// deliveryHub passes every delivery on to all recordings.
type deliveryHub struct {
	mu      sync.Mutex
	buffers []*recordBuffer
}

func (a *deliveryHub) add(r *recordBuffer) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.buffers = append(a.buffers, r)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.buffers = slices.DeleteFunc(a.buffers, func(other *recordBuffer) bool { return other == r })
	}
}

// delivered is called by the goroutine of a session. It must not wait.
func (a *deliveryHub) delivered(d rpcclient.Delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.buffers {
		r.delivered(d)
	}
}
