package hidio

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/hid"
	"sidetone/internal/platform"
)

const (
	// maxReport is the maximum length of a report on any OS.
	maxReport = 16 << 10
	// maxQueued is how many requests may wait for a device.
	maxQueued = 32
	// requestTimeout bounds one request. The OS gives each transfer some 5 s, and a request may need two.
	requestTimeout = 12 * time.Second
)

// port is an open device. One goroutine reads it, and another sends while there are requests.
type port struct {
	node   string
	conn   connection
	source *manager
	ctx    context.Context // ends when the port closes
	cancel context.CancelFunc
	once   sync.Once

	burst  int                   // reports read since the queue was last empty; of the reading goroutine
	failed atomic.Pointer[error] // why reading has failed; nil: it has not

	emitting sync.Mutex
	over     bool // no more events are reported

	calls  platform.CallGuard
	logged string // the last failure that was logged; of the sending goroutine

	queueing sync.Mutex
	queue    []job
	sending  bool // a goroutine works on queue
}

// job is a queued request, or one that is to be refused when its turn comes.
type job struct {
	hid.Request
	refused bool
}

func newPort(h *manager, node string, conn connection) *port {
	p := &port{node: node, conn: conn, source: h, calls: platform.NewCallGuard()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// emit reports an event, after all earlier ones. Gone is the last one.
func (p *port) emit(e hid.Event) {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	if p.over {
		return
	}
	p.over = e.Kind == hid.Gone
	e.Node = p.node
	p.source.handle(e)
}

// silence stops all events; when it returns the callback does not run any more.
func (p *port) silence() {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	p.over = true
}

// close ends reading and sending. It does not wait for the kernel, as closing a node does.
func (p *port) close() {
	p.once.Do(func() {
		p.queueing.Lock()
		p.cancel()
		p.queue = nil
		p.queueing.Unlock()
		p.source.working.Go(func() { _ = p.conn.close() })
	})
}

// read reports what the device sends until that fails.
func (p *port) read() {
	report := make([]byte, maxReport)
	for {
		n, err := p.conn.read(report, p.noteDrained)
		at := time.Now()
		if p.ctx.Err() != nil {
			return
		}
		if err != nil {
			p.fail(err, at)
			return
		}
		p.emit(hid.Event{Kind: hid.Report, Data: bytes.Clone(report[:n]), At: at})
		p.burst++
		if p.burst%p.source.backend.backlog() == 0 {
			p.emit(hid.Event{Kind: hid.Lost, At: time.Now()})
		}
	}
}

// noteDrained notes that no report waits. An OS queues backlog reports for a reader and silently drops what comes while the queue is
// full. It does not say so, but then at least that many are read in a row: so reports may have been lost after each backlog of reports in
// a row (what was dropped came later than those), and at the end of a row that was longer.
func (p *port) noteDrained() {
	if backlog := p.source.backend.backlog(); p.burst > backlog && p.burst%backlog != 0 {
		p.emit(hid.Event{Kind: hid.Lost, At: time.Now()})
	}
	p.burst = 0
}

// fail reports that the device is gone, with the reason unless it was unplugged.
func (p *port) fail(err error, at time.Time) {
	gone := hid.Event{Kind: hid.Gone, At: at}
	err = fmt.Errorf("read %s: %w", p.source.backend.path(p.node), err)
	if !p.source.backend.isUnplugged(err) {
		gone.Error = err.Error()
	}
	p.emit(gone)
	p.close()
	p.failed.Store(&err)
	p.source.changed.Notify()
}

// enqueue queues a request. When the queue is full, as many again are refused in their turn, and the rest is dropped.
func (p *port) enqueue(r hid.Request) {
	p.queueing.Lock()
	defer p.queueing.Unlock()
	waiting := len(p.queue)
	if p.ctx.Err() != nil || waiting >= 2*maxQueued {
		return
	}
	p.queue = append(p.queue, job{r, waiting >= maxQueued})
	if !p.sending {
		p.sending = true
		p.source.working.Go(p.sendQueued)
	}
}

// sendQueued performs all queued requests, then ends.
func (p *port) sendQueued() {
	for {
		p.queueing.Lock()
		if len(p.queue) == 0 {
			p.sending = false
			p.queueing.Unlock()
			return
		}
		job := p.queue[0]
		p.queue = p.queue[1:]
		p.queueing.Unlock()
		p.do(job)
	}
}

// do performs one request and reports the answer. A written output report has none.
func (p *port) do(job job) {
	report, err := p.performGuarded(job)
	if p.ctx.Err() != nil {
		return
	}
	e := hid.Event{Kind: hid.Answer, Request: job.ID, Data: report, At: time.Now()}
	switch {
	case err != nil:
		e.Error = err.Error()
	case len(job.Feature) == 0 && len(job.Input) == 0 && len(job.LastOutput) == 0:
		return
	}
	if e.Error != "" && e.Error != p.logged {
		p.logged = e.Error
		p.source.log.Warn("a request to a HID device failed", "node", p.node, "err", err)
	}
	p.emit(e)
}

var errQueueFull = fmt.Errorf("%d requests were already waiting for the device", maxQueued)

func (p *port) performGuarded(job job) ([]byte, error) {
	if job.refused {
		return nil, errQueueFull
	}
	ctx, cancel := context.WithTimeout(p.ctx, requestTimeout)
	defer cancel()
	return platform.CallWithContext(ctx, p.calls, nil, func() ([]byte, error) { return p.conn.request(job.Request) })
}
