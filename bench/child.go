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

// child is a running agent or bare path, and the client that it reports to.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string // path of what it prints
	*bench
	*place
	began   time.Time       // right before it was started
	waiting context.Context // ends when the program does
}

// start starts a client and a program, and waits until it has reported the headset.
func (b *bench) start(ctx context.Context, program func(*place) command, s setup) *child {
	p, err := s.open(b.dir)
	b.check(err)
	c := b.startAlone(p, program(p))
	if err := c.await(ctx, "its first payload", lists); err != nil {
		b.check(errors.Join(err, c.end()))
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

// await returns when the client has got the next payload that is wanted, which is then its last.
func (c *child) await(ctx context.Context, what string, wanted func(fakeserver.Payload) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepLimit, fmt.Errorf("not within %s", stepLimit))
	defer cancel()
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.waiting, func() { stop(context.Cause(c.waiting)) })()
	for {
		p, err := c.client.WaitPayload(both, c.last.Seq)
		if err != nil {
			return fmt.Errorf("wait for the %s to send %s over %s: %w: %w; its last words:\n%s",
				c.name, what, c.over(), err, context.Cause(both), c.tail())
		}
		c.last = p
		if p.Err != nil {
			return fmt.Errorf("the client does not accept what the %s sends: %w", c.name, p.Err)
		}
		if wanted(p) {
			return nil
		}
	}
}

// awaitMute returns when the client has the mute, with the payload that brought it.
func (c *child) awaitMute(ctx context.Context, mute bool) fakeserver.Payload {
	wanted := func(p fakeserver.Payload) bool { return mutes(p, mute) }
	if !wanted(c.last) {
		c.check(c.await(ctx, fmt.Sprintf("the mute %t", mute), wanted))
	}
	return c.last
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
