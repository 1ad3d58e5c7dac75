package app

import "time"

// Host is what an agent, or a program that asks one, takes from its machine. Tests and the demo have
// hosts of their own, which have nothing of the user's.
type Host struct {
	Getenv     func(string) string    // the user's environment
	Executable func() (string, error) // this program, beside which its brand file lies; nil: it has none
	HIDRoot    string                 // the folder that holds the sys and dev of HID devices; "": the system's
	Etc, Run   string                 // Linux: the folders in which the sound server is looked for beside the user's: /etc and /run; "": none

	StopTimeout time.Duration // for clients to be told of the agent's end; 0: as long as a user would wait
}
