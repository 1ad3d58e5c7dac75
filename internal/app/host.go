package app

import "time"

// Host is what an agent, or who asks one, takes from the machine it runs on. Tests and the demo have
// hosts of their own, in which nothing is the user's.
type Host struct {
	Getenv     func(string) string    // the user's environment
	Executable func() (string, error) // this program, beside which its brand file is; nil: it has none
	HIDRoot    string                 // the folder that holds the sys and dev of HID devices; "": those of the system

	StopTimeout time.Duration // how long clients may take to hear of the agent's end; 0: no longer than a user would wait
}
