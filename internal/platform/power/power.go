// Package power tells when the machine has woken from sleep, and when it was started. WatchResume and Started are in each system's file;
// the logic that they share is in wakedetector.go.
package power
