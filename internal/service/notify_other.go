//go:build !linux

package service

import (
	"errors"
	"time"
)

func sendState(string, string) error { return errors.ErrUnsupported }

func tick(time.Duration) (func() error, func(), error) { return nil, nil, errors.ErrUnsupported }
