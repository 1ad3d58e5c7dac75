package conform

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// maxMessage is the largest message that a client takes, in bytes (rule R47).
const maxMessage = 3 << 20

// maxFrame is the largest message that is read, in bytes; the client's own
// limit is 3 MiB (rule R47).
const maxFrame = 4 << 20

type eventKind int

const (
	eventText   eventKind = iota // a message
	eventOther                   // a frame of another kind; data is its content
	eventPong                    // data is what it echoes
	eventClosed                  // end holds the outcome; nothing follows
)

// An event is something that came from the server on an open connection.
type event struct {
	kind eventKind
	data []byte
	end  outcome
}

// A link is an open WebSocket or IPC connection. One goroutine reads it until
// it ends, so that giving up on one answer does not end the connection.
type link struct {
	transport Transport
	write     func(data []byte, deadline time.Time) error // a message
	hangUp    func()
	in        chan event
	done      chan struct{}
	once      sync.Once
	reader    sync.WaitGroup
	dead      bool            // the server ended it
	nonces    map[string]bool // of commands sent
}

// newLink begins to read; next returns the next event, an eventClosed at last.
func newLink(t Transport, next func() event, write func([]byte, time.Time) error, hangUp func()) *link {
	l := &link{
		transport: t, write: write, hangUp: hangUp,
		in: make(chan event), done: make(chan struct{}), nonces: map[string]bool{},
	}
	l.reader.Go(func() {
		for {
			e := next()
			select {
			case l.in <- e:
			case <-l.done:
				return
			}
			if e.kind == eventClosed {
				return
			}
		}
	})
	return l
}

// close hangs up and waits for the reader.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		l.hangUp()
	})
	l.reader.Wait()
}

// await reads events until match has an outcome, the server hangs up, or the
// deadline passes.
func (l *link) await(ctx context.Context, wait time.Duration, match func(event) (outcome, bool)) (outcome, error) {
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if l.dead {
			return outcome{got: hungUp, waited: time.Since(began)}, nil
		}
		select {
		case e := <-l.in:
			o, ok := e.end, e.kind == eventClosed
			l.dead = ok
			if !ok {
				o, ok = match(e)
			}
			if ok {
				o.waited = time.Since(began)
				return o, nil
			}
		case <-timer.C:
			return outcome{got: silence, waited: time.Since(began)}, nil
		case <-ctx.Done():
			return outcome{}, context.Cause(ctx)
		}
	}
}

// greeting waits for READY (rules R16, R17).
func (l *link) greeting(ctx context.Context, wait time.Duration) (outcome, answer, error) {
	var hello answer
	o, err := l.await(ctx, wait, func(e event) (outcome, bool) {
		a, ok := readAnswer(e.data)
		if e.kind != eventText || !ok || a.text("cmd") != "DISPATCH" || a.text("evt") != "READY" {
			return outcome{got: "not READY", detail: compact(e.data)}, true
		}
		hello = a
		return outcome{got: ready}, true
	})
	if o.got == silence {
		o.got = openSilent
	}
	return o, hello, err
}

// ask sends a command and waits for its answer. Answers to earlier commands,
// which came too late, do not count.
func (l *link) ask(ctx context.Context, c command, wait time.Duration) (outcome, error) {
	l.nonces[c.nonce] = true
	_ = l.write([]byte(c.text), time.Now().Add(wait)) // a failure shows when reading
	return l.await(ctx, wait, func(e event) (outcome, bool) {
		if e.kind != eventText {
			return outcome{got: "another kind of frame"}, true
		}
		a, ok := readAnswer(e.data)
		switch {
		case !ok:
			return outcome{got: "answer is not JSON", detail: compact(e.data)}, true
		case a.event(), a.text("nonce") != c.nonce && l.nonces[a.text("nonce")]:
			return outcome{}, false
		}
		return a.judge(c.cmd, c.nonce), true
	})
}

// complete reports whether a READY says what clients say in it.
func complete(hello answer) bool {
	var data struct {
		V      int
		Config map[string]json.RawMessage
	}
	if json.Unmarshal(hello["data"], &data) != nil || data.V != 1 || !hello.null("nonce") {
		return false
	}
	for _, key := range []string{"cdn_host", "api_endpoint", "environment"} {
		if data.Config[key] == nil {
			return false
		}
	}
	return true
}
