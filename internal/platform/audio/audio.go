// Package audio lists the audio endpoints of the operating system, and notices when they or their mutes change: New, in each system's
// file, returns them as a platform.Source.
package audio

import "sidetone/internal/devices"

// Options configure the source.
type Options struct {
	Name    string                        // Linux: the name of this program for the sound server
	Server  string                        // Linux: the address of the sound server, in the form of $PULSE_SERVER; "": as the environment says
	Alone   bool                          // Linux: do without miniaudio, and so without ALSA's list
	Effects func(e devices.Endpoint) bool // Windows: whether to hold a stream to learn an endpoint's effects; nil: never
	// Controls says whether the mixer controls of an endpoint's card are of use, so that a card which is hidden is worth a word. Linux; nil:
	// always.
	Controls func(e devices.Endpoint) bool
	Getenv   func(string) string // the user's environment; nil: nothing is set
	Etc, Run string              // Linux: the folders in which other places of the sound server are looked for: /etc and /run; "": none
}
