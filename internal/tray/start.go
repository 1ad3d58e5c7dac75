package tray

import (
	"errors"
	"fmt"
	"os/exec"

	"sidetone/internal/local"
)

// startDetached starts a program that outlives this one. When that ends, the channel gets nil, or an error with the last line that it
// wrote to standard error.
func startDetached(cmd *exec.Cmd) (<-chan error, error) {
	cmd.SysProcAttr = detached()
	said := &local.Tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); err != nil && said.LastLine() != "" {
			ended <- errors.New(said.LastLine())
		} else {
			ended <- err
		}
	}()
	return ended, nil
}
