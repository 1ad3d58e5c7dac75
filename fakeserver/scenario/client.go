package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/fakeserver"
)

// A client is a fake client at work, and what it was told.
type client struct {
	spec     clientSpec
	srv      *fakeserver.Server // nil before the first start
	running  bool
	seq      int // of the last payload that was read
	before   *fakeserver.Payload
	payloads []fakeserver.Payload
	cursor   int
}

// history returns what has come so far.
func (c *client) history(anchor time.Time) history {
	c.read()
	return history{c.before, c.payloads, anchor, c.cursor}
}

// expired is a context that has ended: what waits with it looks once.
var expired = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// read takes over what was recorded and not read yet.
func (c *client) read() {
	for c.srv != nil {
		p, err := c.srv.WaitPayload(expired, c.seq)
		if err != nil {
			return
		}
		c.take(p)
	}
}

func (c *client) take(p fakeserver.Payload) {
	c.seq = p.Seq
	c.payloads = append(c.payloads, p)
}

// next returns when a payload has come, or the time. The error is the context's cause.
func (c *client) next(ctx context.Context, until time.Time) error {
	timed, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if c.srv == nil {
		<-timed.Done()
	} else if p, err := c.srv.WaitPayload(timed, c.seq); err == nil {
		c.take(p)
	}
	return reason(ctx)
}

// beginAction begins a new history: what was told so far is what was there before.
func (c *client) beginAction() {
	c.read()
	c.before = history{before: c.before, payloads: c.payloads}.reported(len(c.payloads))
	c.payloads, c.cursor = nil, 0
}

// restartHistory is for a new life of the client, which was told nothing yet.
func (c *client) restartHistory() {
	c.beginAction()
	c.before = nil
}

// do does what a step says, and says what came of it.
func (c *client) do(d clientAction) (seen string, err error) {
	switch {
	case d.verb == "start":
		return c.start(d.ports)
	case c.srv == nil:
		return "", errors.New("it has never run")
	}
	switch d.verb {
	case "stop":
		return "stopped", c.stop()
	case "restart":
		if err := c.stop(); err != nil {
			return "", err
		}
		return c.resume(d.ports)
	case "resume":
		return c.resume(d.ports)
	case "drop":
		n := c.srv.Connections()
		c.srv.DropConnections()
		return fmt.Sprintf("%d connections were open", n), nil
	case "freeze":
		c.srv.Freeze()
		return "frozen", nil
	case "thaw":
		c.srv.Thaw()
		return "thawed", nil
	}
	return "set", c.srv.SetFault(d.fault)
}

func (c *client) start(ports []int) (seen string, err error) {
	if c.running {
		return "", errors.New("it runs already")
	}
	o := c.spec.options
	if len(ports) > 0 {
		o.Ports = ports
	}
	srv, err := fakeserver.Start(o)
	if err != nil {
		return "", err
	}
	c.close()
	c.srv, c.running, c.seq = srv, true, 0
	c.before, c.payloads, c.cursor = nil, nil, 0
	return "listens on " + c.srv.Address(), nil
}

func (c *client) stop() error {
	if !c.running {
		return errors.New("it does not run")
	}
	c.srv.Stop()
	c.running = false
	return nil
}

func (c *client) resume(ports []int) (seen string, err error) {
	if c.running {
		return "", errors.New("it runs already")
	}
	c.restartHistory()
	if err := c.srv.Resume(ports...); err != nil {
		return "", err
	}
	c.running = true
	return "listens on " + c.srv.Address(), nil
}

// close ends the client for good.
func (c *client) close() {
	if c.srv != nil {
		_ = c.srv.Close() // always nil
	}
	c.running = false
}

// variable is the part of an environment variable's name that stands for a client.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// excerpt is the beginning of what was received last, in printable ASCII.
func (c *client) excerpt() string {
	const most = 600 // bytes
	payloads := c.payloads
	if c.before != nil {
		payloads = slices.Concat([]fakeserver.Payload{*c.before}, payloads)
	}
	if len(payloads) == 0 {
		return ""
	}
	p := payloads[len(payloads)-1]
	raw, more := p.Raw, ""
	if len(raw) > most {
		raw, more = raw[:most], "…"
	}
	head := fmt.Sprintf("payload %d, %s, by %s", p.Seq, p.Time.Format("15:04:05.000"), p.Transport)
	if p.Err != nil {
		head += ", rejected: " + p.Err.Error()
	}
	return head + "\n" + printable(string(raw)) + more
}
