package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sidetone/fakeserver"
)

type scenarioFile struct {
	Name    string       `yaml:"name,omitempty"`
	Clients []clientFile `yaml:"clients"`
	Setup   []stepFile   `yaml:"setup,omitempty"`
	Steps   []stepFile   `yaml:"steps"`
}

type clientFile struct {
	Name    string        `yaml:"name"`
	Profile profile       `yaml:"profile,omitempty"`
	Port    *int          `yaml:"port,omitempty"`
	Ports   []int         `yaml:"ports,omitempty"`
	IPC     string        `yaml:"ipc,omitempty"`
	Seed    int           `yaml:"seed,omitempty"`
	Bucket  bucket        `yaml:"bucket,omitempty"`
	Refill  time.Duration `yaml:"refill,omitempty"`
	Stopped bool          `yaml:"stopped,omitempty"`
}

type profile string

func (profile) Enum() []string { return fakeserver.Profiles() }

// A bucket is how many requests are let through at once; "off", which is -1, is no limit.
type bucket int

const mostRequests = 1000

func (b *bucket) UnmarshalJSON(text []byte) error {
	if string(text) == `"off"` {
		*b = -1
		return nil
	}
	if err := json.Unmarshal(text, (*int)(b)); err != nil || *b < 1 || *b > mostRequests {
		return fmt.Errorf("want a whole number from 1 to %d, or off", mostRequests)
	}
	return nil
}

// A stepFile is a step with the keys of all actions, of which it has one. The actions of
// load.go say which keys go together.
type stepFile struct {
	Title string `yaml:"title,omitempty"`

	// The names of clients.
	Start   string `yaml:"start,omitempty"`
	Stop    string `yaml:"stop,omitempty"`
	Restart string `yaml:"restart,omitempty"`
	Resume  string `yaml:"resume,omitempty"`
	Drop    string `yaml:"drop,omitempty"`
	Freeze  string `yaml:"freeze,omitempty"`
	Thaw    string `yaml:"thaw,omitempty"`

	Fault     string        `yaml:"fault,omitempty"`
	Prompt    string        `yaml:"prompt,omitempty"`
	Run       []string      `yaml:"run,omitempty"`
	Terminate string        `yaml:"terminate,omitempty"`
	Wait      time.Duration `yaml:"wait,omitempty"`
	Expect    expectAction  `yaml:"expect,omitempty"`
	Never     neverAction   `yaml:"never,omitempty"`

	Port       *int          `yaml:"port,omitempty"`
	Client     string        `yaml:"client,omitempty"`
	Confirm    bool          `yaml:"confirm,omitempty"`
	Deadline   time.Duration `yaml:"deadline,omitempty"`
	Background bool          `yaml:"background,omitempty"`
	As         string        `yaml:"as,omitempty"`
}

// A span is a range of numbers. max is -1 if there is no upper bound.
type span struct{ min, max int }

const mostCounted = 1_000_000

// UnmarshalJSON reads a number, or its bounds.
func (s *span) UnmarshalJSON(text []byte) error {
	wrong := fmt.Errorf("want a whole number up to %d, or its bounds such as {min: 1, max: 3}", mostCounted)
	var bounds map[string]*int
	exactly := -1
	if json.Unmarshal(text, &exactly) == nil {
		bounds = map[string]*int{"min": &exactly, "max": &exactly}
	} else if json.Unmarshal(text, &bounds) != nil {
		return wrong
	}
	*s = span{max: -1}
	for name, n := range bounds {
		switch {
		case n == nil || *n < 0 || *n > mostCounted:
			return wrong
		case name == "min":
			s.min = *n
		case name == "max":
			s.max = *n
		default:
			return wrong
		}
	}
	if s.max >= 0 && s.max < s.min {
		return errors.New("the greatest number is below the least")
	}
	return nil
}

// A flagValue is the expected value of an optional boolean; "" matches anything.
type flagValue string

func (f *flagValue) UnmarshalText(text []byte) error {
	*f = flagValue(text)
	if *f != "true" && *f != "false" && *f != "absent" {
		return errors.New("want true, false or absent")
	}
	return nil
}

type transport string

func (transport) Enum() []string {
	return []string{string(fakeserver.IPC), string(fakeserver.WebSocket), string(fakeserver.HTTP)}
}

type deviceType string

func (deviceType) Enum() []string {
	return []string{fakeserver.AudioInput, fakeserver.AudioOutput, fakeserver.VideoInput}
}
