package scenario

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/strictyaml"
)

// Load reads a scenario. file is its name, which problems bear and whose folder relative paths
// start at; it is not opened. Up to 100 problems are returned, in order of position; of a file
// that is not YAML, the first. The scenario is nil when there is a problem.
func Load(file string, text []byte) (*Scenario, []Problem) {
	root, problem := strictyaml.Parse(file, text)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	if root == nil {
		return nil, []Problem{{File: file, Line: 1, Column: 1, Message: "the file is empty"}}
	}
	l := &loader{reader: reader{file: file}, running: map[string]bool{}, started: map[string]bool{}, programs: map[string]int{}}
	sc := l.scenario(root)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, strictyaml.Compare)
		return nil, l.problems
	}
	return sc, nil
}

// A loader reads the parts of a scenario, and follows along which clients would run.
type loader struct {
	reader
	clients  []string
	running  map[string]bool
	started  map[string]bool // at least once
	programs map[string]int  // the names of background programs, and the line where each begins
}

func (l *loader) scenario(root *strictyaml.Node) *Scenario {
	k, ok := l.keys(root, []string{"name", "clients", "setup", "steps"})
	if !ok {
		return nil
	}
	sc := &Scenario{file: l.file, name: l.text(k.value("name"))}
	if sc.name == "" {
		sc.name = strings.TrimSuffix(filepath.Base(l.file), filepath.Ext(l.file))
	}
	lines := map[string]int{}
	for _, n := range l.list(k.need("clients"), "a list of clients") {
		sc.clients = append(sc.clients, l.client(n, lines))
	}
	for _, n := range l.list(k.value("setup"), "a list of steps") {
		sc.setup = append(sc.setup, l.step(n))
	}
	for _, n := range l.list(k.need("steps"), "a list of steps") {
		sc.steps = append(sc.steps, l.step(n))
	}
	return sc
}

func (l *loader) client(n *strictyaml.Node, lines map[string]int) clientSpec {
	spec := clientSpec{line: n.Line}
	k, ok := l.keys(n, []string{"name", "profile", "port", "ports", "ipc", "seed", "bucket", "refill", "stopped"})
	if !ok {
		return spec
	}
	spec.name = l.clientName(k.need("name"), lines)
	spec.stopped = l.boolean(k.value("stopped"))
	l.running[spec.name], l.started[spec.name] = !spec.stopped, !spec.stopped
	o := fakeserver.Options{Name: spec.name}
	o.Profile = fakeserver.Profile(l.oneOf(k.value("profile"), fakeserver.Profiles()...))
	o.Ports = l.ports(k)
	switch folder := l.text(k.value("ipc")); folder {
	case "", "off":
	case "private":
		spec.privateIPC = true
	default:
		o.IPCDir = l.path(folder)
	}
	o.Seed = uint64(l.whole(k.value("seed"), 0, 1<<31-1))
	o.Bucket = l.bucket(k.value("bucket"))
	o.Refill = l.duration(k.value("refill"))
	if err := o.Check(); err != nil {
		l.report(n, "%v", err)
	}
	spec.options = o
	return spec
}

// path is a path of the file, which starts at the file's folder.
func (l *loader) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(l.file), p)
}

// bucket reads how many requests are let through at once, or off for all.
func (l *loader) bucket(n *strictyaml.Node) int {
	if n != nil && n.Kind == strictyaml.Text && n.Text == "off" {
		return -1
	}
	return l.whole(n, 1, 1000)
}

// clientName reads a name that an environment variable can bear too.
func (l *loader) clientName(n *strictyaml.Node, lines map[string]int) string {
	name := l.text(n)
	if name == "" {
		return ""
	}
	odd := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if strings.ContainsFunc(name, odd) {
		l.report(n, "the name %s has more than letters, digits, - and _", quote(name))
	}
	key := variable(name)
	if first, twice := lines[key]; twice {
		l.report(n, "the name %q is taken (line %d)", name, first)
	} else {
		lines[key] = n.Line
		l.clients = append(l.clients, name)
	}
	return name
}

func (l *loader) ports(k keys) []int {
	if k.has("port") && k.has("ports") {
		l.reportKey(k.byName["ports"], "\"ports\" does not go with \"port\"")
	}
	if port := k.value("port"); port != nil {
		return []int{l.port(port)}
	}
	var ports []int
	for _, n := range l.list(k.value("ports"), "a list of ports") {
		ports = append(ports, l.port(n))
	}
	return ports
}

func (l *loader) port(n *strictyaml.Node) int { return l.whole(n, 0, 65535) }

// actions are the keys of which each step has one, with the keys that may go with each.
var actions = map[string][]string{
	"start":     {"port"},
	"stop":      nil,
	"restart":   {"port"},
	"resume":    {"port"},
	"drop":      nil,
	"freeze":    nil,
	"thaw":      nil,
	"fault":     {"client"},
	"prompt":    {"confirm"},
	"run":       {"deadline", "background", "as"},
	"terminate": {"deadline"},
	"wait":      nil,
	"expect":    nil,
	"never":     nil,
}

var actionNames = []string{
	"start", "stop", "restart", "resume", "drop", "freeze", "thaw", "fault", "prompt", "run", "terminate", "wait", "expect", "never",
}

var stepKeys = append(slices.Clone(actionNames), "title", "port", "client", "confirm", "deadline", "background", "as")

func (l *loader) step(n *strictyaml.Node) step {
	s := step{line: n.Line}
	k, ok := l.keys(n, stepKeys)
	if !ok {
		return s
	}
	name := l.actionName(k)
	if name == "" {
		return s
	}
	s.do = l.action(name, k)
	if s.title = l.text(k.value("title")); s.title == "" && s.do != nil {
		s.title = s.do.String()
	}
	return s
}

// actionName finds the one thing that a step does.
func (l *loader) actionName(k keys) string {
	name := ""
	for _, f := range k.node.Fields {
		_, is := actions[f.Name]
		switch {
		case !is || !k.has(f.Name) || f.Name == name:
		case name == "":
			name = f.Name
		default:
			l.reportKey(f, "a step does one thing, and this one does %q already", name)
		}
	}
	if name == "" {
		if len(k.byName) == len(k.node.Fields) { // else the misspelt key has been reported
			l.report(k.node, "the step does nothing, want one of: %s", strings.Join(actionNames, ", "))
		}
		return ""
	}
	for option, f := range k.byName {
		if _, is := actions[option]; !is && option != "title" && !slices.Contains(actions[name], option) {
			l.reportKey(f, "%q does not go with %q", option, name)
		}
	}
	return name
}

func (l *loader) action(name string, k keys) action {
	n := k.value(name)
	if n == nil {
		return nil
	}
	switch name {
	case "start", "stop", "restart", "resume", "drop", "freeze", "thaw":
		return l.clientAction(name, n, k)
	case "fault":
		return l.fault(n, k)
	case "prompt":
		return promptAction{l.text(n), l.boolean(k.value("confirm"))}
	case "run":
		return l.program(n, k)
	case "terminate":
		return l.terminate(n, k)
	case "wait":
		return waitAction{l.duration(n)}
	case "expect":
		return l.expect(n)
	}
	return l.never(n)
}

// known reads the name of a client.
func (l *loader) known(n *strictyaml.Node) string {
	name := l.text(n)
	if name != "" && !slices.Contains(l.clients, name) {
		l.unknown(n, "there is no client", name, l.clients)
		return ""
	}
	return name
}

// addressed reads "client", which may be left out when there is only one.
func (l *loader) addressed(k keys) string {
	if len(l.clients) == 1 && !k.has("client") {
		return l.clients[0]
	}
	return l.known(k.need("client"))
}

// clientAction reads a step whose value is a client, and checks that the client can do that.
func (l *loader) clientAction(verb string, n *strictyaml.Node, k keys) action {
	d := clientAction{verb: verb, client: l.known(n)}
	if port := k.value("port"); port != nil {
		d.ports = []int{l.port(port)}
	}
	if d.client == "" || verb == "drop" {
		return d
	}
	running, started := l.running[d.client], l.started[d.client]
	starts := verb == "start" || verb == "resume"
	switch {
	case running && starts:
		l.report(n, "%s runs already at this step", d.client)
	case !running && !starts:
		l.report(n, "%s does not run at this step", d.client)
	case !started && verb == "resume":
		l.report(n, "%s has never run at this step; use start", d.client)
	}
	if verb != "freeze" && verb != "thaw" {
		l.running[d.client], l.started[d.client] = verb != "stop", true
	}
	return d
}

func (l *loader) fault(n *strictyaml.Node, k keys) action {
	d := clientAction{verb: "fault", client: l.addressed(k)}
	if s := l.text(n); s != "" {
		fault, err := fakeserver.ParseFault(s)
		if err != nil {
			l.report(n, "%v", err)
		}
		d.fault = fault
	}
	if d.client != "" && !l.started[d.client] {
		l.report(n, "%s has never run at this step", d.client)
	}
	return d
}

const (
	runDeadline       = 30 * time.Second
	terminateDeadline = 10 * time.Second
)

func (l *loader) program(n *strictyaml.Node, k keys) action {
	d := runAction{deadline: runDeadline, background: l.boolean(k.value("background"))}
	for _, item := range l.list(n, "a list of a program and its arguments") {
		d.args = append(d.args, l.text(item))
	}
	if deadline := l.duration(k.value("deadline")); deadline > 0 {
		d.deadline = deadline
	}
	if d.background && k.has("deadline") {
		l.reportKey(k.byName["deadline"], "\"deadline\" does not go with \"background\": it runs until the end")
	}
	if !k.has("as") {
		return d
	}
	as := k.value("as")
	d.name = l.text(as)
	first, twice := l.programs[d.name]
	switch {
	case !d.background:
		l.reportKey(k.byName["as"], "\"as\" goes with \"background: true\" only")
	case twice:
		l.report(as, "the name %q is taken (line %d)", d.name, first)
	case d.name != "":
		l.programs[d.name] = as.Line
	}
	return d
}

func (l *loader) terminate(n *strictyaml.Node, k keys) action {
	d := terminateAction{name: l.text(n), deadline: terminateDeadline}
	if deadline := l.duration(k.value("deadline")); deadline > 0 {
		d.deadline = deadline
	}
	if _, ok := l.programs[d.name]; !ok && d.name != "" {
		var names []string
		for name := range l.programs {
			names = append(names, name)
		}
		slices.Sort(names)
		l.unknown(n, "no step before this one runs a program as", d.name, names)
	}
	return d
}
