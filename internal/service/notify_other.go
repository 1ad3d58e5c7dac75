//go:build !linux

package service

import (
	"errors"
	"time"
)

func sendState(string, string) error { return errors.ErrUnsupported }

func tick(time.Duration) (<-chan time.Time, func(), error) { return nil, nil, errors.ErrUnsupported }
