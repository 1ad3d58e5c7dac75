package tray

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// startDetached starts a program in a session of its own. The channel gets one value when it has ended: nil, or why, with the last
// line that it has said.
func startDetached(cmd *exec.Cmd) (<-chan error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		var last string
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			last = lines.Text()
		}
		if err := cmd.Wait(); err != nil && last != "" {
			ended <- errors.New(last)
		} else {
			ended <- err
		}
	}()
	return ended, nil
}
