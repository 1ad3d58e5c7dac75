//go:build !linux

package testlab

import "os/exec"

type group struct{}

// StartBound starts a program. ended is closed when it has been waited for and its ProcessState is set.
func StartBound(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	waited := make(chan struct{})
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(waited)
	}()
	return waited, nil
}

func (*group) start(*exec.Cmd) error { return errNotHere }
func (*group) firstEnded() string    { return "" }
func (*group) kill() error           { return nil }
func (*group) terminate() error      { return errNotHere }
func (*group) suspend() error        { return errNotHere }
func (*group) resume() error         { return errNotHere }
