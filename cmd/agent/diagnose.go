package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
)

// diagnose judges each station in turn.
func diagnose(in doctorInput) []finding {
	d := newDiagnosis(in)
	d.agent()
	d.settings()
	d.sources()
	d.devices()
	d.ids()
	d.hidDevices()
	for _, r := range d.microphones() {
		d.mute(r)
		d.otherFlags(r)
	}
	if d.Status != nil {
		d.pushes()
		d.clients()
	}
	if !anyWrong(d.found) {
		d.user()
	}
	return d.found
}

type diagnosis struct {
	doctorInput
	endpoints map[devices.Key]control.Endpoint
	found     []finding
}

func newDiagnosis(in doctorInput) *diagnosis {
	d := &diagnosis{doctorInput: in, endpoints: make(map[devices.Key]control.Endpoint)}
	for _, e := range in.Devices.Endpoints {
		d.endpoints[e.Key()] = e
	}
	return d
}

func (d *diagnosis) add(at station, s severity, remedy, format string, args ...any) {
	d.found = append(d.found, finding{at, s, sentence(fmt.Sprintf(format, args...)), capital(sentence(remedy))})
}

func (d *diagnosis) agent() {
	switch {
	case d.Status == nil && errors.Is(d.AgentErr, control.ErrNotRunning):
		d.add(stepAgent, wrong, "Start it with 'sidetone run --catalogue FILE', as the user who runs the client", "No agent runs for this user, so the client is told nothing")
	case d.Status == nil && errors.Is(d.AgentErr, control.ErrSilent):
		d.add(stepAgent, wrong, "End it and start it again; if somebody has stopped it (kill -STOP, Ctrl-Z, a debugger), let it go on", "The agent of this user does not answer")
	case d.Status == nil:
		d.add(stepAgent, wrong, "Run this as the user who runs the agent; if that is so already, restart the agent", "The agent could not be asked: %v", d.AgentErr)
	case d.Status.Version != d.Version:
		d.add(stepAgent, doubtful, "Restart the agent, so that both are of one version", "The agent that runs (process %d) is version %s, this command is %s", d.Status.PID, d.Status.Version, d.Version)
	default:
		d.add(stepAgent, fine, "", "The agent runs as process %d, for %s", d.Status.PID, age(d.Status.Started, d.Now))
	}
	if d.Status == nil {
		d.add(stepAgent, hint, "Start the agent and run this again to see what the vendor's software pushes and what clients have",
			"All that follows was read by this command itself, once")
	}
}

func (d *diagnosis) settings() {
	for _, p := range d.Problems {
		remedy := "Correct it, until 'sidetone config check' finds nothing"
		if p.File == d.CataloguePath {
			remedy = fmt.Sprintf("Correct it, until 'sidetone catalogue check %s' finds nothing", d.CataloguePath)
		}
		d.add(stepSettings, wrong, remedy+d.reload(), "%s", p)
	}
	switch {
	case d.CataloguePath == "":
		d.add(stepSettings, wrong, "Say which devices are yours: --catalogue FILE, SIDETONE_CATALOGUE or 'catalogue:' in the settings file",
			"No catalogue is set, so no device can be recognised")
	case d.Catalogue != nil && len(d.Problems) == 0:
		d.add(stepSettings, fine, "", "Settings and the catalogue %s are in order; it has %s of %s", d.CataloguePath, count(len(d.Catalogue.Products), "product"), d.Catalogue.Vendor.Name)
	}
	for _, p := range d.OwnProblems {
		d.add(stepSettings, wrong, fmt.Sprintf("Correct it, until 'sidetone catalogue check %s' finds nothing, or leave it out: the agent has another", d.OwnCatalogue), "%s", p)
	}
	if d.OwnCatalogue != "" && d.OwnCatalogue != d.CataloguePath {
		d.add(stepSettings, doubtful, "If that is the one you mean, restart the agent with it", "The agent uses another catalogue than the settings here, which name %s", d.OwnCatalogue)
	}
}

// reload is what to do after a correction while an agent runs.
func (d *diagnosis) reload() string {
	if d.Status == nil {
		return ""
	}
	return fmt.Sprintf("; then have the agent read it again (kill -HUP %d, or POST /v1/reload), which keeps the old one until then", d.Status.PID)
}

func (d *diagnosis) sources() {
	if len(d.Sources) == 0 {
		d.add(stepSources, wrong, "Set sources.audio or sources.camera to true, or name a file in sources.files; on Windows and macOS only such files are read so far",
			"Nothing is asked for devices")
	}
	for _, s := range d.Sources {
		if s.Name == "hid" {
			continue // see hidDevices
		}
		switch engine.Condition(s.Condition) {
		case engine.Working:
			if s.Name != "state-file" {
				d.add(stepSources, fine, "", "The source %s works; it lists %s", s.Name, count(s.Endpoints, "endpoint"))
			} else if len(s.Notes) == 0 {
				d.add(stepSources, fine, "", "The source %s works; it pushes what its file says", s.Name)
			}
		case engine.Starting:
			d.add(stepSources, doubtful, "Run this again in some seconds; if it stays so, restart the sound server", "The source %s has not answered yet", s.Name)
		default:
			d.add(stepSources, wrong, sourceRemedy(s.Name, s.Error), "The source %s cannot be read, so what it would list is unknown: %s", s.Name, s.Error)
		}
		for _, note := range s.Notes {
			how := doubtful
			if strings.Contains(note, "miniaudio") { // it only confirms the list
				how = hint
			}
			d.add(stepSources, how, sourceRemedy(s.Name, note), "The source %s says: %s", s.Name, note)
		}
	}
}

// deniedPath is the file that a text of a failure complains of.
var deniedPath = regexp.MustCompile(`(/[^\s:,()]+)[^/]*permission denied`)

func sourceRemedy(source, text string) string {
	switch m := deniedPath.FindStringSubmatch(text); {
	case m != nil:
		return fmt.Sprintf("Let this user read %s: log in at the machine itself, or join the group that 'ls -l %s' shows, and log in again", m[1], m[1])
	case strings.Contains(text, "permission denied"):
		return "Run 'ls -l' on the file that is named, and join the group that it belongs to"
	case strings.Contains(text, "miniaudio"):
		return "Nothing to do: the sound server's own list is used"
	case source == "state-file":
		return "Have the vendor's software write the file anew, or take it out of push.state_file"
	case strings.HasPrefix(source, "file:"):
		return fmt.Sprintf("Correct %s, or take it out of sources.files", strings.TrimPrefix(source, "file:"))
	case source == "audio":
		return "Start the sound server ('systemctl --user start pipewire-pulse' or 'pulseaudio --start'); if it runs elsewhere, name it in sources.pulse_server"
	case source == "camera":
		return "Unplug the camera and plug it in again; if you have none, set sources.camera to false"
	default:
		return "Correct sources.* in the settings; 'sidetone config show' lists them"
	}
}
