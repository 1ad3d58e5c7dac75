//go:build linux || windows

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

type command struct {
	name      string
	args, env []string
}

// child is a running agent or bare path, and the clients that it reports to.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string // path of what it prints
	*bench
	*place
	began   time.Time       // right before it was started
	first   time.Duration   // from then until its clients had the headset
	waiting context.Context // ends when the program does
}

// start starts the clients and a program, and waits until it has reported the headset to each.
func (b *bench) start(ctx context.Context, program func(*place) command, s setup) *child {
	p, err := s.open(b.dir)
	b.check(err)
	c := b.startAlone(p, program(p))
	for _, cl := range c.clients {
		if err := c.await(ctx, cl, "its first payload", lists); err != nil {
			b.check(errors.Join(err, c.end()))
		}
		c.first = max(c.first, cl.last.Time.Sub(c.began))
	}
	return c
}

// startAlone starts a program and does not wait for anything.
func (b *bench) startAlone(p *place, what command) *child {
	c := &child{bench: b, place: p, name: what.name}
	if err := c.run(what); err != nil {
		b.check(errors.Join(fmt.Errorf("start the %s: %w", c.name, err), p.close()))
	}
	return c
}

func (c *child) run(what command) error {
	log, err := os.CreateTemp(c.dir, "child-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	c.log = log.Name()
	c.cmd = exec.Command(what.args[0], what.args[1:]...)
	c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = what.env, log, log
	c.began = time.Now()
	ended, err := testlab.StartBound(c.cmd)
	if err != nil {
		return err
	}
	waiting, stop := context.WithCancelCause(context.Background())
	c.waiting = waiting
	go func() {
		<-ended
		stop(fmt.Errorf("it has ended: %s", c.cmd.ProcessState))
	}()
	return nil
}

// await returns when a client has got the next payload that is wanted, which is then its last.
func (c *child) await(ctx context.Context, cl *client, what string, wanted func(fakeserver.Payload) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepLimit, fmt.Errorf("not within %s", stepLimit))
	defer cancel()
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.waiting, func() { stop(context.Cause(c.waiting)) })()
	for {
		p, err := cl.WaitPayload(both, cl.last.Seq)
		if err != nil {
			return fmt.Errorf("wait for the %s to send %s: %w: %w; its last words:\n%s", c.name, what, err, context.Cause(both), c.tail())
		}
		cl.last = p
		if p.Err != nil {
			return fmt.Errorf("the client does not accept what the %s sends: %w", c.name, p.Err)
		}
		if wanted(p) {
			return nil
		}
	}
}

// awaitMute returns when every client has the mute, with the payload that brought it to the slowest.
func (c *child) awaitMute(ctx context.Context, mute bool) (slowest fakeserver.Payload) {
	wanted := func(p fakeserver.Payload) bool { return mutes(p, mute) }
	for _, cl := range c.clients {
		if !wanted(cl.last) {
			c.check(c.await(ctx, cl, fmt.Sprintf("the mute %t", mute), wanted))
		}
		if cl.last.Time.After(slowest.Time) {
			slowest = cl.last
		}
	}
	return slowest
}

func (c *child) usage() usage {
	pid, err := c.pid()
	c.check(err)
	u, err := readUsage(pid)
	if err != nil {
		c.check(fmt.Errorf("%s: %w", c.name, err))
	}
	return u
}

// stop ends the program. A failure to do so is one of the measurement.
func (c *child) stop() { c.fail(c.end()) }

// end asks the program to end and waits for it.
func (c *child) end() error {
	defer c.close()
	defer os.Remove(c.log)
	c.terminate()
	select {
	case <-c.waiting.Done():
	case <-time.After(stepLimit):
		_ = c.cmd.Process.Kill()
		<-c.waiting.Done()
		return fmt.Errorf("the %s did not end within %s of being told to; its last words:\n%s", c.name, stepLimit, c.tail())
	}
	if code := c.cmd.ProcessState.ExitCode(); code != terminatedCode {
		return fmt.Errorf("the %s ended with exit code %d; its last words:\n%s", c.name, code, c.tail())
	}
	return nil
}

// tail returns the end of what the program has printed.
func (c *child) tail() string {
	const size = 2 << 10
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(b[max(0, len(b)-size):]), "?")
}
