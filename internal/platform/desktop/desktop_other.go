//go:build !linux && !windows

package desktop

import (
	"context"
	"errors"
)

// Open returns errors.ErrUnsupported.
func (Desktop) Open(string, func(error)) error { return errors.ErrUnsupported }

// Copy returns errors.ErrUnsupported.
func (Desktop) Copy(context.Context, []byte) error { return errors.ErrUnsupported }

// Autostarts returns false.
func (Desktop) Autostarts(Entry) bool { return false }

// SetAutostart returns errors.ErrUnsupported.
func (Desktop) SetAutostart(Entry, bool) error { return errors.ErrUnsupported }

// LacksTray returns false.
func (Desktop) LacksTray(context.Context) bool { return false }
