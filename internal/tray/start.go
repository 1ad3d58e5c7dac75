package tray

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// startDetached starts a program that outlives this one. When that ends, the channel gets nil, or an error with the last line that it
// wrote to standard error.
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

// tail keeps the end of a program's output. It accepts everything: otherwise the program would block.
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
