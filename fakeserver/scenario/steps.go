package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sidetone/fakeserver"
)

// A clientAction starts or stops a client, drops its connections, or makes it freeze or
// misbehave.
type clientAction struct {
	verb   string // key of the step
	client string
	ports  []int            // of start, restart and resume; empty: those of the client, or the one it had
	fault  fakeserver.Fault // of fault
}

func (d clientAction) String() string {
	switch {
	case d.verb == "drop":
		return "drop the connections of " + d.client
	case d.verb == "fault":
		return fmt.Sprintf("fault %s on %s", d.fault, d.client)
	case len(d.ports) > 0:
		return fmt.Sprintf("%s %s on port %d", d.verb, d.client, d.ports[0])
	}
	return d.verb + " " + d.client
}

func (d clientAction) run(_ context.Context, r *runner) outcome {
	seen, err := r.clients[d.client].do(d)
	if err != nil {
		return failure(err.Error())
	}
	return outcome{seen: seen}
}

// A promptAction tells the operator what to do.
type promptAction struct {
	text    string
	confirm bool
}

func (d promptAction) String() string { return "prompt: " + firstLine(d.text) }

func (d promptAction) run(ctx context.Context, r *runner) outcome {
	r.printf("\n>>> %s\n", strings.ReplaceAll(printable(strings.TrimRight(d.text, "\n")), "\n", "\n    "))
	if !d.confirm || r.opts.Confirm == nil {
		return outcome{seen: "shown"}
	}
	switch err := r.opts.Confirm(ctx); {
	case ctx.Err() != nil:
		return failure(reason(ctx).Error())
	case err != nil:
		return failure(err.Error())
	}
	return outcome{seen: "confirmed"}
}

type waitAction struct{ lasts time.Duration }

func (d waitAction) String() string { return fmt.Sprintf("wait %v", d.lasts) }

func (d waitAction) limit() time.Duration { return d.lasts }

func (d waitAction) run(ctx context.Context, r *runner) outcome {
	select {
	case <-time.After(d.lasts):
	case <-ctx.Done():
		return failure(reason(ctx).Error())
	}
	for _, c := range r.clients {
		c.read()
		c.cursor = len(c.payloads)
	}
	return outcome{}
}

type runAction struct {
	args       []string
	background bool
	name       string // of a background program, "" when nothing refers to it
	deadline   time.Duration
}

func (d runAction) String() string {
	text := firstLine(strings.Join(d.args, " "))
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	if d.background {
		return "run in the background: " + text
	}
	return "run: " + text
}

func (d runAction) limit() time.Duration { return d.deadline }

func (d runAction) run(ctx context.Context, r *runner) outcome {
	p, err := r.launch(d)
	if err != nil {
		return failure(err.Error())
	}
	if d.background {
		r.programs = append(r.programs, p)
		return outcome{seen: "started"}
	}
	defer p.release()
	return p.finish(ctx, d.deadline)
}

// A terminateAction asks a background program to end, and waits until it has.
type terminateAction struct {
	name     string
	deadline time.Duration
}

func (d terminateAction) String() string { return "terminate " + d.name }

func (d terminateAction) limit() time.Duration { return d.deadline }

func (d terminateAction) run(ctx context.Context, r *runner) outcome {
	var p *program // the one that was started last under this name
	for _, other := range r.programs {
		if other.name == d.name {
			p = other
		}
	}
	if p == nil {
		return failure("it was not started")
	}
	if p.ended() {
		return outcome{failed: true, seen: "it had ended by itself: " + p.status(), excerpt: p.outputTail()}
	}
	if !p.terminate(ctx, d.deadline) {
		return outcome{failed: true, seen: fmt.Sprintf("it did not end within %v and was killed", d.deadline), excerpt: p.outputTail()}
	}
	return outcome{seen: p.status()}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
