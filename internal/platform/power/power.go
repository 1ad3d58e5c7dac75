// Package power tells when the machine has woken from sleep, and when it was started. What each system tells of that is
// WatchResume and Started of its file; what follows from it is in wakedetector.go.
package power
