//go:build !linux

package ipc

import "sidetone/internal/local"

// LineageOf knows nothing on this OS.
func LineageOf(int) local.Lineage { return local.Lineage{} }
