//go:build !linux

package tray

import (
	"errors"
	"os/exec"
)

func newHost(Options) (host, error) {
	return nil, errors.Join(errors.New("there is no tray icon on this system yet"), errors.ErrUnsupported)
}

func startDetached(*exec.Cmd) (<-chan error, error) { return nil, errors.ErrUnsupported }
