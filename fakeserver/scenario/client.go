package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sidetone/fakeserver"
)

// A client is a fake client of a run, with what it was told.
type client struct {
	spec    clientSpec
	srv     *fakeserver.Server // nil before the first start
	seq     int                // of the last payload that was read
	history                    // since the last action began, without its anchor
}

// read adds the payloads that were recorded since the last call to the history.
func (c *client) read() {
	for c.srv != nil {
		p, ok := c.srv.NextPayload(c.seq)
		if !ok {
			return
		}
		c.seq = p.Seq
		c.payloads = append(c.payloads, p)
	}
}

// historySince returns what has come so far; anchor is when the last action ended.
func (c *client) historySince(anchor time.Time) history {
	c.read()
	h := c.history
	h.anchor = anchor
	return h
}

// awaitPayload returns when there is a payload to read, or at a time. The error is the cause of
// the context's end.
func (c *client) awaitPayload(ctx context.Context, until time.Time) error {
	timed, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	_, _ = c.srv.WaitPayload(timed, c.seq)
	return reason(ctx)
}

// beginAction begins a new history, before which the last list so far was in force.
func (c *client) beginAction() {
	c.read()
	c.history = history{before: c.reported(len(c.payloads))}
}

// do executes a step and says what came of it.
func (c *client) do(d clientAction) (seen string, err error) {
	starts, running := d.verb == "start" || d.verb == "resume", c.srv != nil && c.srv.Running()
	switch {
	case c.srv == nil && d.verb != "start":
		return "", errors.New("it has never run")
	case running && starts:
		return "", errors.New("it runs already")
	case !running && (d.verb == "stop" || d.verb == "restart"):
		return "", errors.New("it does not run")
	}
	switch d.verb {
	case "start":
		return c.start(d.ports)
	case "stop":
		c.srv.Stop()
		return "stopped", nil
	case "restart":
		c.srv.Stop()
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
	o := c.spec.options
	if len(ports) > 0 {
		o.Ports = ports
	}
	srv, err := fakeserver.Start(o)
	if err != nil {
		return "", err
	}
	c.close()
	c.srv, c.seq, c.history = srv, 0, history{}
	return "listens on " + c.srv.Address(), nil
}

func (c *client) resume(ports []int) (seen string, err error) {
	c.read()
	c.history = history{} // nothing was reported since it started again
	if err := c.srv.Resume(ports...); err != nil {
		return "", err
	}
	return "listens on " + c.srv.Address(), nil
}

// close closes the client for good.
func (c *client) close() {
	if c.srv != nil {
		_ = c.srv.Close() // always nil
	}
}

// variable is how a client is named in environment variables.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// excerpt is the beginning of the last payload.
func (c *client) excerpt() string {
	const most = 600 // bytes
	p := c.before
	if n := len(c.payloads); n > 0 {
		p = &c.payloads[n-1]
	}
	if p == nil {
		return ""
	}
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
