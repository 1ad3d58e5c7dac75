// Package doctor diagnoses whether the client shows what it should. It is a pure function from facts to conditions, and
// evaluates codes, never the text of other packages.
package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/strictyaml"
)

// Facts is the input of the diagnosis.
type Facts struct {
	Status   *control.Status  // nil: no agent answers
	AgentErr error            // why no agent answers
	Sources  []control.Source // as the agent reads them, or else this command
	Devices  control.Devices  // likewise
	HID      []control.HID    // likewise

	CataloguePath string               // of the agent, or of this command's settings; "": not set
	OwnCatalogue  string               // of this command's settings
	Catalogue     *catalogue.Catalogue // nil: none that is valid
	Problems      []strictyaml.Problem // of settings and catalogue
	Ignored       *health.Condition    // says why the administrator's settings are ignored; nil: they are not
	OwnProblems   []strictyaml.Problem // of OwnCatalogue, if the agent has another one
	Variables     []string             // of this command's environment that look like settings and are none

	NoTrayHost bool // there is a desktop, but it shows no tray icons

	Service *Service // nil: unknown

	Version string // of this command
	Now     time.Time
}

// Service is how the agent is registered to start at log-in.
type Service struct {
	Path      string // of the definition
	Installed bool
	Running   bool   // as the service, not from a terminal
	Missing   string // the program that it starts, which is not there; "": it is
}

// Examine checks every step on the way from the headset to the client, and returns the condition of each.
func Examine(f Facts) []health.Condition {
	d := newExamination(f)
	d.agent()
	d.ofAgent(health.AgentSafeMode)
	d.ofAgent(health.UpdateRefused)
	d.paused()
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
	if !Wrong(d.found) {
		d.user()
	}
	return d.found
}

// Standing returns the present conditions of an agent: what is wrong with its sources, clients and pushes, and what may
// mislead the user. It needs Status, Sources, HID, Devices and Now.
func Standing(f Facts) []health.Condition {
	d := newExamination(f)
	d.standing = true
	d.paused()
	d.sources()
	d.hidDevices()
	d.pushes()
	d.clients()
	for _, r := range d.microphones() {
		d.defaultInput(r)
	}
	return d.found
}

// Wrong reports whether there is a problem.
func Wrong(found []health.Condition) bool {
	return slices.ContainsFunc(found, func(c health.Condition) bool { return c.Severity == health.Problem })
}

type examination struct {
	Facts
	standing  bool // an agent examines itself, at each change
	endpoints map[devices.Key]control.Endpoint
	found     []health.Condition
}

func newExamination(f Facts) *examination {
	d := &examination{Facts: f, endpoints: make(map[devices.Key]control.Endpoint)}
	for _, e := range f.Devices.Endpoints {
		d.endpoints[e.Key()] = e
	}
	return d
}

func (d *examination) add(s health.Severity, code health.Code, subject string, args health.Args, because ...health.Condition) {
	if d.tells(s, code) {
		d.found = append(d.found, health.Condition{Code: code, Severity: s, Subject: subject, Args: args, Because: because})
	}
}

// tells reports whether such a condition is wanted. Standing leaves out what is in order, and what comes and goes with every change.
func (d *examination) tells(s health.Severity, code health.Code) bool {
	return !d.standing || s != health.OK && code != health.ClientBehind
}

func (d *examination) agent() {
	switch {
	case d.Status == nil:
		d.found = append(d.found, control.Unreachable(d.AgentErr))
	case d.Status.Version != d.Version:
		d.add(health.Warning, health.AgentVersion, "", health.Args{
			"pid": strconv.Itoa(d.Status.PID), "version": cmp.Or(d.Status.Version, "?"), "own": d.Version,
		})
	default:
		d.add(health.OK, health.AgentRuns, "", health.Args{"pid": strconv.Itoa(d.Status.PID), "age": age(d.Status.Started, d.Now)})
	}
	if d.NoTrayHost {
		d.add(health.Info, health.TrayHostMissing, "", nil)
	}
	switch {
	case d.Service == nil:
	case !d.Service.Installed:
		d.add(health.Info, health.ServiceMissing, "", nil)
	case d.Service.Missing != "":
		d.add(health.Problem, health.ServiceBroken, "", health.Args{"path": d.Service.Path, "program": d.Service.Missing})
	case !d.Service.Running:
		d.add(health.Warning, health.ServiceStopped, "", health.Args{"path": d.Service.Path})
	}
	if d.Status == nil {
		d.add(health.Info, health.AgentNotAsked, "", nil)
	}
}

// paused reminds the user that reporting is paused.
func (d *examination) paused() {
	if d.Status == nil || d.Status.Pause == nil {
		return
	}
	args := make(health.Args)
	if end := d.Status.Pause.Until; !end.IsZero() {
		until, layout := end.In(d.Now.Location()), "15:04"
		if until.YearDay() != d.Now.YearDay() || until.Year() != d.Now.Year() {
			layout = "2006-01-02 15:04"
		}
		args["until"] = until.Format(layout)
	}
	d.add(health.Warning, health.AgentPaused, "", args)
}

func (d *examination) settings() {
	for _, p := range d.Problems {
		args, code := health.Args{"mistake": p.String()}, health.SettingsMistake
		if p.File == d.CataloguePath {
			args["path"], code = d.CataloguePath, health.CatalogueMistake
		}
		d.add(health.Problem, code, "", d.reread(args))
	}
	switch {
	case d.CataloguePath == "":
		d.add(health.Problem, health.CatalogueMissing, "", nil)
	case d.Catalogue != nil && len(d.Problems) == 0:
		d.add(health.OK, health.SettingsFine, "", health.Args{
			"path": d.CataloguePath, "products": strconv.Itoa(len(d.Catalogue.Products)), "vendor": d.Catalogue.Vendor.Name,
		})
	}
	if d.Ignored != nil {
		d.found = append(d.found, *d.Ignored)
	}
	if len(d.Variables) > 0 {
		d.add(health.Info, health.VariablesUnknown, "", health.Args{"names": strings.Join(d.Variables, ", ")})
	}
	d.ofAgent(health.ReloadRefused) // settings that the agent has refused
	for _, p := range d.OwnProblems {
		d.add(health.Problem, health.CatalogueOtherMistake, "", health.Args{"mistake": p.String(), "path": d.OwnCatalogue})
	}
	if d.OwnCatalogue != "" && d.OwnCatalogue != d.CataloguePath {
		d.add(health.Warning, health.CatalogueOther, "", health.Args{"path": d.OwnCatalogue})
	}
}

// ofAgent adds a condition that only the agent itself can know.
func (d *examination) ofAgent(code health.Code) {
	if d.Status == nil {
		return
	}
	for _, c := range d.Status.Conditions {
		if c.Code == code {
			d.found = append(d.found, c.Condition)
		}
	}
}

// reread adds the pid of the agent that must reload a corrected file, if one runs.
func (d *examination) reread(args health.Args) health.Args {
	if d.Status != nil {
		args["agent"] = strconv.Itoa(d.Status.PID)
	}
	return args
}

// catalogueName returns the catalogue's path, for advice.
func (d *examination) catalogueName() string { return cmp.Or(d.CataloguePath, "--catalogue") }

// user adds what only the user can check (rules R64, R65).
func (d *examination) user() {
	for _, r := range d.microphones() {
		d.add(health.Info, health.UserInput, d.nameOf(r), nil)
		d.defaultInput(r)
	}
	if len(d.microphones()) > 0 {
		d.add(health.Info, health.UserInCall, "", nil)
	}
}

// defaultInput warns about a microphone that is the system's default: if the client's input is set to "Default", the client
// records from it without recognising it, and shows no notice (rule R65).
func (d *examination) defaultInput(r devices.Report) {
	if slices.ContainsFunc(r.Endpoints, func(k devices.Key) bool { return d.endpoints[k].Default }) {
		d.add(health.Info, health.UserDefaultInput, d.nameOf(r), nil)
	}
}

func (d *examination) microphones() []devices.Report {
	return slices.DeleteFunc(slices.Clone(d.Devices.Reported), func(r devices.Report) bool { return r.Type != devices.AudioInput })
}

// endpoint returns the first endpoint behind a report.
func (d *examination) endpoint(r devices.Report) control.Endpoint {
	if len(r.Endpoints) == 0 {
		return control.Endpoint{}
	}
	return d.endpoints[r.Endpoints[0]]
}

// nameOf returns the name under which the user knows a device.
func (d *examination) nameOf(r devices.Report) string { return cmp.Or(d.endpoint(r).Name, r.ID) }

func age(since, now time.Time) string { return seconds(now.Sub(since)) }

func seconds(t time.Duration) string { return max(0, t).Round(time.Second).String() }
