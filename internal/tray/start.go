package tray

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// startDetached starts a program that outlives this one. The channel gets one value when it has ended: nil, or why, with the last
// line that it has said.
func startDetached(cmd *exec.Cmd) (<-chan error, error) {
	cmd.SysProcAttr = detached()
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); err != nil && said.lastLine() != "" {
			ended <- errors.New(said.lastLine())
		} else {
			ended <- err
		}
	}()
	return ended, nil
}

// tail is the end of what a program says, which may be much: it takes all, as else that program would wait.
type tail struct{ text []byte }

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

func (t *tail) lastLine() string {
	text := strings.TrimSpace(string(t.text))
	return text[strings.LastIndex(text, "\n")+1:]
}
