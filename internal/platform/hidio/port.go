package hidio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
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
	// firstLook and lastLook are how long after a report its queue is looked at again, so that the next report's Since is closer to it than
	// to this one. Each time is twice the one before. The last exceeds any debounce time.
	firstLook = 5 * time.Millisecond
	lastLook  = 5120 * time.Millisecond
)

// port is an open device. One goroutine reads each of its channels, and another sends while there are requests.
type port struct {
	node    string
	conn    connection
	opened  time.Time
	readers int // how many channels are read
	source  *manager
	ctx     context.Context // ends when the port closes
	cancel  context.CancelFunc
	once    sync.Once

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
	p := &port{node: node, conn: conn, opened: time.Now(), source: h, calls: platform.NewCallGuard()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// emit reports an event, after all earlier ones. Failed is the last one.
func (p *port) emit(e hid.Event) {
	p.emitting.Lock()
	defer p.emitting.Unlock()
	if p.over {
		return
	}
	p.over = e.Kind == hid.Failed
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

// reader reads one channel of a port.
type reader struct {
	*port
	channel
	number int
	empty  time.Time     // when the queue was last known to be empty
	look   time.Duration // how long to wait until it is looked at again; more than lastLook: until the next report
	burst  int           // reports read since it was last empty
}

// read starts to read the channels that are not read yet. They were opened, and empty, at or after a given time.
func (p *port) read(opened time.Time) {
	channels := p.conn.channels()
	for ; p.readers < len(channels); p.readers++ {
		r := &reader{port: p, channel: channels[p.readers], number: p.readers, empty: opened, look: firstLook}
		p.source.working.Go(r.run)
	}
}

// lookAgain has all queues looked at now: after a sleep, what is read later is then known to have been sent since.
func (p *port) lookAgain() {
	for _, c := range p.conn.channels() {
		c.interrupt()
	}
}

// run reports what the device sends until that fails.
func (r *reader) run() {
	report := make([]byte, maxReport)
	for {
		n, err := r.channel.read(report, r.nextLook(), r.noteEmpty)
		at := time.Now()
		switch {
		case r.ctx.Err() != nil:
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			r.fail(err, at)
			return
		}
		r.emit(hid.Event{Kind: hid.Report, Data: bytes.Clone(report[:n]), Since: r.empty, At: at, Channel: r.number})
		r.look = firstLook
		r.burst++
		if r.burst%r.source.backend.backlog() == 0 {
			r.emit(hid.Event{Kind: hid.Lost, At: time.Now(), Channel: r.number})
		}
	}
}

// nextLook returns when to look at the queue again if there is no report before. A silent device costs nothing.
func (r *reader) nextLook() time.Time {
	if r.look > lastLook {
		return time.Time{}
	}
	at := time.Now().Add(r.look)
	r.look *= 2
	return at
}

// noteEmpty notes that no report waited at a time. An OS queues backlog reports for a reader and silently drops what comes while the
// queue is full. It does not say so, but then at least that many are read in a row: so reports may have been lost after each backlog of
// reports in a row (what was dropped came later than those), and at the end of a row that was longer.
func (r *reader) noteEmpty(at time.Time) {
	if backlog := r.source.backend.backlog(); r.burst > backlog && r.burst%backlog != 0 {
		r.emit(hid.Event{Kind: hid.Lost, At: time.Now(), Channel: r.number})
	}
	r.burst, r.empty = 0, at
}

// fail reports that the device cannot be read any more. The next scan tells whether it was unplugged.
func (p *port) fail(err error, at time.Time) {
	err = fmt.Errorf("read %s: %w", p.source.backend.path(p.node), err)
	p.emit(hid.Event{Kind: hid.Failed, Error: err.Error(), At: at})
	p.close()
	p.failed.CompareAndSwap(nil, &err)
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
