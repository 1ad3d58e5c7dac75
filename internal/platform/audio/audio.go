// Package audio lists the audio endpoints of the operating system, and tells when they or their mute change: New, of each
// system's file, returns them as a platform.Source. Beside what the system itself tells, miniaudio lists them by one code on
// all of them (miniaudio.go).
package audio

import "sidetone/internal/devices"

// Options say where the sound server is found, and what is asked.
type Options struct {
	Name    string                        // Linux: what the sound server calls this program
	Server  string                        // Linux: the address of the sound server, in the form of $PULSE_SERVER; "": as the environment says
	Alone   bool                          // without miniaudio
	Effects func(e devices.Endpoint) bool // Windows: of which endpoints a stream is held to learn their effects; nil: of none
	Getenv  func(string) string           // the user's environment; nil: nothing is set
}
