//go:build !cgo

package audio

import (
	"context"
	"errors"
)

// newLister returns a lister that fails: this build has no miniaudio.
func newLister() lister {
	return func(context.Context, string) ([]enumeratedDevice, error) {
		return nil, errors.New("miniaudio is not part of this build (CGO_ENABLED=0)")
	}
}

// ServeChild does nothing without miniaudio.
func ServeChild() {}
