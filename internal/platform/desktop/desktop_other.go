//go:build !linux && !windows

package desktop

import (
	"context"
	"errors"
)

// Open shows a file in the program that the user has chosen for its kind.
func (Desktop) Open(string, func(error)) error { return errors.ErrUnsupported }

// Copy puts a text into the clipboard.
func (Desktop) Copy(context.Context, []byte) error { return errors.ErrUnsupported }

// Autostarts reports whether the program is started at each log-in.
func (Desktop) Autostarts(Entry) bool { return false }

// SetAutostart has the program started at each log-in, or not any more.
func (Desktop) SetAutostart(Entry, bool) error { return errors.ErrUnsupported }

// LacksTray reports whether there is a desktop, and it shows no tray icons.
func (Desktop) LacksTray(context.Context) bool { return false }
