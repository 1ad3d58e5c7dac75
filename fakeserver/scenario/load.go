package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/strictyaml"
)

// A Problem is one thing that is wrong with a scenario file.
type Problem = strictyaml.Problem

const maxProblems = 100

// Load reads a scenario. file is its name, for the problems and as the base of relative paths;
// it is not opened. It returns up to 100 problems in order of position, or only the first if
// the file is not YAML. The scenario is nil if there is a problem.
func Load(file string, text []byte) (*Scenario, []Problem) {
	var f scenarioFile
	doc, problems := strictyaml.DecodeScript(file, text, &f)
	l := &loader{
		doc: doc, malformed: problems, problems: problems,
		names: map[string]string{}, running: map[string]bool{}, started: map[string]bool{}, programs: map[string]string{},
	}
	sc := l.scenario(f)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, strictyaml.Compare)
		return nil, l.problems[:min(len(l.problems), maxProblems)]
	}
	return sc, nil
}

// A loader finds mistakes that the types of a file cannot express, and tracks which clients
// would be running. at is always the path of what is checked.
type loader struct {
	doc       *strictyaml.Document
	malformed []Problem // about values that could not be read
	problems  []Problem
	clients   []string
	names     map[string]string // path of each client name, by environment variable
	running   map[string]bool
	started   map[string]bool   // at least once
	programs  map[string]string // path of the name of each background program
}

// report adds a problem, unless it is about a value that could not be read anyway.
func (l *loader) report(at, message, hint string) {
	inside := func(path, of string) bool {
		return path == of || strings.HasPrefix(path, of+".") || strings.HasPrefix(path, of+"[")
	}
	about := func(p Problem) bool { return inside(p.Path, at) || inside(at, p.Path) }
	if slices.ContainsFunc(l.malformed, about) {
		return
	}
	p := l.doc.Problem(at, message, hint)
	if strings.Contains(message, strconv.Quote(p.Text)) {
		p.Text = ""
	}
	l.problems = append(l.problems, p)
}

// firstAt is the hint for a duplicate name.
func (l *loader) firstAt(path string) string {
	line, _ := l.doc.Position(path)
	return fmt.Sprintf("first on line %d", line)
}

func (l *loader) aboveZero(at string, d time.Duration) time.Duration {
	if l.doc.Has(at) && d <= 0 {
		l.report(at, "want a time above zero", "such as 100ms, 2s or 1m")
	}
	return d
}

func (l *loader) between(at string, n, least, most int) int {
	if l.doc.Has(at) && (n < least || n > most) {
		l.report(at, fmt.Sprintf("want a number from %d to %d", least, most), "")
	}
	return n
}

func (l *loader) scenario(f scenarioFile) *Scenario {
	file := l.doc.File()
	sc := &Scenario{file: file, name: cmp.Or(f.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))}
	for i, c := range f.Clients {
		sc.clients = append(sc.clients, l.client(fmt.Sprintf("$.clients[%d]", i), c))
	}
	for i, s := range f.Setup {
		sc.setup = append(sc.setup, l.step(fmt.Sprintf("$.setup[%d]", i), s))
	}
	for i, s := range f.Steps {
		sc.steps = append(sc.steps, l.step(fmt.Sprintf("$.steps[%d]", i), s))
	}
	return sc
}

func (l *loader) client(at string, f clientFile) clientSpec {
	before := len(l.problems)
	l.clientName(at+".name", f.Name)
	l.running[f.Name], l.started[f.Name] = !f.Stopped, !f.Stopped
	o := fakeserver.Options{
		Name: f.Name, Profile: fakeserver.Profile(f.Profile), Ports: l.ports(at, f), Bucket: int(f.Bucket),
		Seed:   uint64(l.between(at+".seed", f.Seed, 0, 1<<31-1)),
		Refill: l.aboveZero(at+".refill", f.Refill),
	}
	if f.IPC != "" && f.IPC != "off" && f.IPC != "private" {
		o.IPCDir = f.IPC
		if !filepath.IsAbs(f.IPC) {
			o.IPCDir = filepath.Join(filepath.Dir(l.doc.File()), f.IPC)
		}
	}
	if err := o.Check(); err != nil && before == len(l.problems) {
		l.report(at, err.Error(), "")
	}
	line, _ := l.doc.Position(at)
	return clientSpec{name: f.Name, line: line, stopped: f.Stopped, privateIPC: f.IPC == "private", options: o}
}

// variableName matches names that can be part of an environment variable.
var variableName = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

func (l *loader) clientName(at, name string) {
	if !variableName.MatchString(name) {
		l.report(at, "the name has more than letters, digits, - and _", "")
	}
	first, twice := l.names[variable(name)]
	switch {
	case name == "": // not readable
	case twice:
		l.report(at, "the name is taken", l.firstAt(first))
	default:
		l.names[variable(name)] = at
		l.clients = append(l.clients, name)
	}
}

func (l *loader) ports(at string, f clientFile) []int {
	if f.Port != nil && f.Ports != nil {
		l.report(at+".ports", `"ports" does not go with "port"`, "remove one of them")
	}
	for i, port := range f.Ports {
		l.between(fmt.Sprintf("%s.ports[%d]", at, i), port, 0, 65535)
	}
	return append(f.Ports, l.port(at+".port", f.Port)...)
}

// port is the list of an optional port.
func (l *loader) port(at string, port *int) []int {
	if port == nil {
		return nil
	}
	return []int{l.between(at, *port, 0, 65535)}
}

// actions are the keys of which each step has one, with the keys that may accompany each.
var actions = []struct {
	name    string
	options []string
	read    func(l *loader, at, name string, s stepFile) action
}{
	{"start", []string{"port"}, (*loader).clientAction},
	{"stop", nil, (*loader).clientAction},
	{"restart", []string{"port"}, (*loader).clientAction},
	{"resume", []string{"port"}, (*loader).clientAction},
	{"drop", nil, (*loader).clientAction},
	{"freeze", nil, (*loader).clientAction},
	{"thaw", nil, (*loader).clientAction},
	{"fault", []string{"client"}, (*loader).fault},
	{"prompt", []string{"confirm"}, func(_ *loader, _, _ string, s stepFile) action { return promptAction{s.Prompt, s.Confirm} }},
	{"run", []string{"deadline", "background", "as"}, (*loader).program},
	{"terminate", []string{"deadline"}, (*loader).terminate},
	{"wait", nil, func(l *loader, at, _ string, s stepFile) action { return waitAction{l.aboveZero(at+".wait", s.Wait)} }},
	{"expect", nil, func(l *loader, at, _ string, s stepFile) action { return l.expect(at+".expect", s.Expect) }},
	{"never", nil, func(l *loader, at, _ string, s stepFile) action { return l.never(at+".never", s.Never) }},
}

var stepOptions = []string{"port", "client", "confirm", "deadline", "background", "as"}

func (l *loader) step(at string, f stepFile) step {
	s := step{title: f.Title}
	s.line, _ = l.doc.Position(at)
	var names []string
	does := ""
	for _, a := range actions {
		names = append(names, a.name)
		switch {
		case !l.doc.Has(at + "." + a.name):
		case does != "":
			l.report(at+"."+a.name, fmt.Sprintf("a step does one thing, and this one does %q already", does), "make it a step of its own")
		default:
			does = a.name
			s.do = a.read(l, at, a.name, f)
			for _, option := range stepOptions {
				if l.doc.Has(at+"."+option) && !slices.Contains(a.options, option) {
					l.report(at+"."+option, fmt.Sprintf("%q does not go with %q", option, a.name), "")
				}
			}
		}
	}
	if does == "" {
		l.report(at, "the step does nothing", "want one of: "+strings.Join(names, ", "))
	} else if s.title == "" {
		s.title = s.do.String()
	}
	return s
}

// known checks the name of a client.
func (l *loader) known(at, name string) string {
	if !slices.Contains(l.clients, name) {
		l.report(at, "there is no such client", strictyaml.Suggest(name, l.clients))
	}
	return name
}

// addressed is the client of a step; it need not be named if there is only one. It must have
// been started.
func (l *loader) addressed(at, name string) string {
	where := at + ".client"
	switch {
	case name != "":
		l.known(where, name)
	case len(l.clients) == 1:
		name, where = l.clients[0], at
	case len(l.clients) == 0: // which has been told
		return ""
	default:
		l.report(where, `"client" is missing`, "want one of: "+strings.Join(l.clients, ", "))
		return ""
	}
	if !l.started[name] && slices.Contains(l.clients, name) {
		l.report(where, "this client has never run at this step", "start it first")
	}
	return name
}

// clientAction reads a step whose value is a client, and checks that it can be done.
func (l *loader) clientAction(at, verb string, s stepFile) action {
	where := at + "." + verb
	d := clientAction{verb: verb, client: l.known(where, l.doc.Text(where)), ports: l.port(at+".port", s.Port)}
	if verb == "drop" || !slices.Contains(l.clients, d.client) {
		return d
	}
	running, started := l.running[d.client], l.started[d.client]
	starts := verb == "start" || verb == "resume"
	switch {
	case running && starts:
		l.report(where, "this client runs already at this step", "")
	case !running && !starts:
		l.report(where, "this client does not run at this step", "start it first")
	case !started && verb == "resume":
		l.report(where, "this client has never run at this step", "use start")
	}
	if verb != "freeze" && verb != "thaw" {
		l.running[d.client], l.started[d.client] = verb != "stop", true
	}
	return d
}

func (l *loader) fault(at, verb string, s stepFile) action {
	fault, err := fakeserver.ParseFault(s.Fault)
	if err != nil {
		l.report(at+".fault", err.Error(), "")
	}
	return clientAction{verb: verb, client: l.addressed(at, s.Client), fault: fault}
}

const (
	runDeadline       = 30 * time.Second
	terminateDeadline = 10 * time.Second
)

func (l *loader) program(at, _ string, s stepFile) action {
	deadline := cmp.Or(l.aboveZero(at+".deadline", s.Deadline), runDeadline)
	first, twice := l.programs[s.As]
	switch {
	case s.Background && l.doc.Has(at+".deadline"):
		l.report(at+".deadline", `"deadline" does not go with "background"`, "it runs until the end")
	case s.As != "" && !s.Background:
		l.report(at+".as", `"as" goes with "background: true" only`, "")
	case twice:
		l.report(at+".as", "the name is taken", l.firstAt(first))
	case s.As != "":
		l.programs[s.As] = at + ".as"
	}
	return runAction{args: s.Run, background: s.Background, name: s.As, deadline: deadline}
}

func (l *loader) terminate(at, _ string, s stepFile) action {
	if names := slices.Sorted(maps.Keys(l.programs)); !slices.Contains(names, s.Terminate) {
		l.report(at+".terminate", "no step before this one runs a program under this name",
			cmp.Or(strictyaml.Suggest(s.Terminate, names), `give it one with "background: true" and "as"`))
	}
	return terminateAction{name: s.Terminate, deadline: cmp.Or(l.aboveZero(at+".deadline", s.Deadline), terminateDeadline)}
}

func (l *loader) expect(at string, d expectAction) action {
	d.Client = l.addressed(at, d.Client)
	l.aboveZero(at+".within", d.Within)
	l.condition(at, d.condition)
	switch {
	case d.empty() && len(d.counts()) == 0:
		l.report(at, "nothing is expected", "say of which device or list, or how many payloads")
	case d.Once && d.empty():
		l.report(at+".once", `"once" needs a state that is brought once`, "")
	}
	return d
}

func (l *loader) never(at string, d neverAction) action {
	d.Client = l.addressed(at, d.Client)
	l.aboveZero(at+".for", d.For)
	l.condition(at, d.condition)
	if d.empty() {
		l.report(at, "nothing is said that must not be", "say what of which device or list")
	}
	return d
}

func (l *loader) condition(at string, c condition) {
	if c.Present == nil {
		return
	}
	at += ".present"
	switch {
	case c.Device == selector{}:
		l.report(at, `"present" needs a "device"`, "")
	case !*c.Present && len(c.flags()) > 0:
		l.report(at, "a device that is not present has no flags", "")
	case c.Devices != nil:
		l.report(at, `"present" does not go with "devices"`, "remove one of them")
	}
}
