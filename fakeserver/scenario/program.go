package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A program is a process of a scenario.
type program struct {
	name   string
	cmd    *exec.Cmd
	output *os.File // stdout and stderr; a file, so that Wait returns when the process ends
	done   chan struct{}
	err    error // of the end; valid when done is closed
	asked  bool  // to end
}

// start starts a program in a folder. Its output goes to a new file in the scratch folder.
func start(d runAction, folder, scratch string, env []string) (*program, error) {
	output, err := os.CreateTemp(scratch, "output-*")
	if err != nil {
		return nil, fmt.Errorf("cannot keep the output of %s: %w", d.args[0], err)
	}
	cmd := exec.Command(d.args[0], d.args[1:]...)
	cmd.Dir, cmd.Env = folder, env
	cmd.Stdout, cmd.Stderr = output, output
	setOwnGroup(cmd)
	p := &program{name: d.name, cmd: cmd, output: output, done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		p.release()
		return nil, fmt.Errorf("cannot start %s: %w", d.args[0], err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// finish waits for the end of a program that has to end by itself.
func (p *program) finish(ctx context.Context, deadline time.Duration) outcome {
	var wrong string
	select {
	case <-p.done:
		wrong = p.status()
		if p.err == nil {
			return outcome{seen: wrong}
		}
	case <-time.After(deadline):
		wrong = fmt.Sprintf("it did not end within %v", deadline)
	case <-ctx.Done():
		wrong = reason(ctx).Error()
	}
	p.terminate(context.WithoutCancel(ctx), killAfter)
	return outcome{failed: true, seen: wrong, excerpt: p.outputTail()}
}

// killAfter is how long a program may take to end after it was asked to.
const killAfter = 5 * time.Second

// terminate asks the program and what it has started to end. At the deadline, or when the
// context ends, it kills what is left and returns false. On Windows, where programs cannot be
// asked, it kills them at once.
func (p *program) terminate(ctx context.Context, deadline time.Duration) bool {
	p.asked = true
	if p.ended() {
		return true
	}
	terminateGroup(p.cmd.Process)
	select {
	case <-p.done:
		return true
	case <-time.After(deadline):
	case <-ctx.Done():
	}
	killGroup(p.cmd.Process)
	<-p.done
	return false
}

func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *program) status() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// outputTail is the end of the output, in printable characters.
func (p *program) outputTail() string {
	const most = 2 << 10 // bytes
	info, err := p.output.Stat()
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(io.NewSectionReader(p.output, max(0, info.Size()-most), most))
	if err != nil {
		return ""
	}
	return printable(string(data))
}

// release removes the output of a program that has ended.
func (p *program) release() {
	_ = p.output.Close()
	_ = os.Remove(p.output.Name())
}
