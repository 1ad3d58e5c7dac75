package testlab

import (
	"bytes"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"sidetone/internal/signal"
)

// Output keeps what is written to it, such as a log or a process's output, and notifies waiters. The
// zero value is ready; its methods are safe for concurrent use.
type Output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed signal.Broadcast
}

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed.Notify()
	return o.text.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Changed is closed when more is written, see Until.
func (o *Output) Changed() <-chan struct{} { return o.changed.Next() }

// StartBound starts a program, which on Linux dies with this process. ended is closed when it has been waited for and its ProcessState is
// set.
//
// The kernel sends the death signal when the thread that started the program ends, not the process:
// so a goroutine keeps that thread.
func StartBound(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	started, waited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(waited)
		}
	}()
	return waited, <-started
}
