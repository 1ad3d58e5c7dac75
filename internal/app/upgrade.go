package app

import (
	"context"
	"fmt"
	"os"

	"sidetone/internal/control"
)

// Upgrade starts this program again, as it is on disk now, and returns when that has taken over. If that or ctx ends before, this agent
// goes on; if this one is told to stop before, neither does.
func (a *App) Upgrade(ctx context.Context) error {
	if a.opts.Successor == nil {
		return conflict("this agent is part of another program, and cannot be started anew")
	}
	ctx, cancel := context.WithTimeout(ctx, control.MaxUpgrade)
	defer cancel()
	a.upgrading.Lock()
	defer a.upgrading.Unlock()
	if a.HasLetGo() {
		return &control.Refusal{Kind: control.ErrStopping, Message: "another agent goes on in place of this one: ask that one"}
	}
	cmd, err := a.opts.Successor()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return conflict("this agent goes on, as its program cannot be started: %v", err)
	}
	a.log.Info("the program is started anew, to go on in place of this one", "program", cmd.Path, "process", cmd.Process.Pid)
	a.handover.started(cmd.Process)
	defer a.handover.started(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for stop := a.stopping.Done(); err == nil; {
		select {
		case <-a.handover.confirmed:
			return nil
		case <-stop:
			stop = nil
			if a.handover.endWaiting() {
				<-ended
				err = &control.Refusal{Kind: control.ErrStopping, Message: "this agent was told to stop before another one could go on"}
			}
		case <-ended:
			err = conflict("this agent goes on, as the one that was started has ended (%s): its log says why", cmd.ProcessState)
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-ended
			err = fmt.Errorf("the program that was started was not ready in time: %w", ctx.Err())
		}
	}
	select {
	case <-a.handover.confirmed: // it was ready at the last moment
		return nil
	default:
		a.log.Warn("the program was not replaced", "reason", err)
		return err
	}
}

// started notes the process that is to take over; nil: none.
func (s *handover) started(child *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child = child
}

// endWaiting kills the process that Upgrade has started, unless this agent has let go: then awaitSuccessor decides what becomes of it.
func (s *handover) endWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case released, reclaiming, withdrawing, replaced:
		return false
	}
	_ = s.child.Kill()
	return true
}
