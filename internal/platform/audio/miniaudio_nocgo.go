//go:build !cgo

package audio

import (
	"context"
	"errors"
)

// newLister returns a lister that says why it cannot list.
func newLister() lister {
	return func(context.Context, string) ([]enumeratedDevice, error) {
		return nil, errors.New("miniaudio is not part of this build (CGO_ENABLED=0)")
	}
}

// ServeChild has nothing to do without miniaudio.
func ServeChild() {}
