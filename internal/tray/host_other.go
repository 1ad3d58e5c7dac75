//go:build !linux && !windows

package tray

import "errors"

func newHost(Options) (host, error) {
	return nil, errors.Join(errors.New("there is no tray icon on this system yet"), errors.ErrUnsupported)
}
