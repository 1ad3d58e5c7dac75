package control

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

// ReportOf is what is reported of an endpoint.
func (d Devices) ReportOf(e Endpoint) (devices.Report, bool) {
	i := slices.IndexFunc(d.Reported, func(r devices.Report) bool { return slices.Contains(r.Endpoints, e.Key()) })
	if i < 0 {
		return devices.Report{}, false
	}
	return d.Reported[i], true
}

// Serials are those of the endpoints behind certain reports, each once.
func (d Devices) Serials(of func(devices.Report) bool) []string {
	var found []string
	for _, e := range d.Endpoints {
		if r, is := d.ReportOf(e); is && of(r) && e.Serial != "" && !slices.Contains(found, e.Serial) {
			found = append(found, e.Serial)
		}
	}
	return found
}

// UnitWords tell a unit from the others of its product that are there; none if it is the only one.
// Units that the client cannot tell apart are one here too, with the serial number of each.
func (d Devices) UnitWords(p Product, all []Product) []string {
	var words []string
	known := d.Serials(func(r devices.Report) bool { return r.Unit == p.Unit })
	if slices.ContainsFunc(all, func(other Product) bool { return other.ID == p.ID && other.Unit != p.Unit }) {
		words = append(words, "unit "+strings.TrimPrefix(p.Unit, p.ID+" "))
	} else if len(known) < 2 {
		return nil
	}
	for _, serial := range known {
		words = append(words, "serial "+serial)
	}
	return words
}

// Connected reports whether the client is told of changes.
func (s Session) Connected() bool { return s.State == "ready" || s.State == "degraded" }

// Client says with which client a session is, such as "Discord (pid 4711) over ipc /run/user/1000/discord-ipc-0".
func (s Session) Client() string {
	who := s.Name
	if who == "" {
		who = "a client"
	}
	if s.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", s.PID)
	}
	switch {
	case s.Socket != "" && s.Transport == "":
		return who + " at " + s.Socket
	case s.Socket != "":
		return who + " over ipc " + s.Socket
	case s.Transport != "":
		return fmt.Sprintf("%s over %s on port %d", who, s.Transport, s.Port)
	default:
		return fmt.Sprintf("%s on port %d", who, s.Port)
	}
}

// Flags are what a push says, such as "hardware_mute true".
func (p Push) Flags() string {
	var says []string
	for _, f := range devices.Fields {
		if v, ok := p.State[f]; ok {
			says = append(says, fmt.Sprintf("%s %s", f, v))
		}
	}
	return strings.Join(says, ", ")
}
