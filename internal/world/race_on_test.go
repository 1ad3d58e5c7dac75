//go:build race

package world

// raceDetector says that this binary has the race detector in it.
const raceDetector = true
