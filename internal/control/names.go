package control

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// ReportOf returns what is reported of an endpoint.
func (d Devices) ReportOf(e Endpoint) (devices.Report, bool) {
	i := slices.IndexFunc(d.Reported, func(r devices.Report) bool { return slices.Contains(r.Endpoints, e.Key()) })
	if i < 0 {
		return devices.Report{}, false
	}
	return d.Reported[i], true
}

// Serials returns the serial numbers of the endpoints behind certain reports, each once.
func (d Devices) Serials(of func(devices.Report) bool) []string {
	var found []string
	for _, e := range d.Endpoints {
		if r, is := d.ReportOf(e); is && of(r) && e.Serial != "" && !slices.Contains(found, e.Serial) {
			found = append(found, e.Serial)
		}
	}
	return found
}

// UnitNames returns what tells a unit from the others of its product that are plugged in; nothing if it is the only one.
// Units that the client cannot tell apart count as one here too, with the serial number of each.
func (d Devices) UnitNames(p Product, all []Product) (unit string, serials []string) {
	serials = d.Serials(func(r devices.Report) bool { return r.Unit == p.Unit })
	if slices.ContainsFunc(all, func(other Product) bool { return other.ID == p.ID && other.Unit != p.Unit }) {
		return strings.TrimPrefix(p.Unit, p.ID+" "), serials
	}
	if len(serials) < 2 {
		return "", nil
	}
	return "", serials
}

// Connected reports whether the client is told of changes.
func (s Session) Connected() bool { return s.State == "ready" || s.State == "degraded" }

// Args returns the arguments of a condition about the client of a session.
func (s Session) Args() health.Args {
	args := make(health.Args)
	for name, value := range map[string]string{"name": s.Name, "transport": s.Transport, "socket": s.Socket} {
		if value != "" {
			args[name] = value
		}
	}
	if s.PID != 0 {
		args["pid"] = strconv.Itoa(s.PID)
	}
	if s.Socket == "" {
		args["port"] = strconv.Itoa(s.Port)
	}
	return args
}

// Client describes the client of a session in English, such as "Discord (pid 4711) over ipc /run/user/1000/discord-ipc-0".
func (s Session) Client() string { return health.English.Client(s.Args()) }

// TriedOtherwise reports whether Reason may come from the client's port, although the session shows only its socket.
func (s Session) TriedOtherwise() bool { return s.Transport == "" && s.Socket != "" }

// States returns what a push says, as a list for texts.
func (p Push) States() string {
	var says []string
	for _, f := range devices.Fields {
		if v, ok := p.State[f]; ok {
			says = append(says, string(f)+"="+f.ValueWord(v))
		}
	}
	return texts.List(says...)
}

// Flags returns what a push says in the names that commands use, such as "hardware_mute true".
func (p Push) Flags() string {
	var says []string
	for _, f := range devices.Fields {
		if v, ok := p.State[f]; ok {
			says = append(says, fmt.Sprintf("%s %s", f, v))
		}
	}
	return strings.Join(says, ", ")
}
