//go:build !linux

package platform

// LineageOf knows nothing on this OS.
func LineageOf(int) Lineage { return Lineage{} }
