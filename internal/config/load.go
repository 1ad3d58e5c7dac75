package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sidetone/internal/strictyaml"
)

// Options say where settings come from. Empty fields are skipped.
type Options struct {
	Policy     []string          // the administrator's files, which nothing overrides; later files override earlier ones
	Registry   []Registry        // the administrator's values on Windows, which override Policy; later keys override earlier ones
	Flags      map[string]string // by path, such as rpc.ports; only those that the user gave
	Env        []string          // KEY=value, as returned by os.Environ; an empty value counts as not set
	EnvPrefix  string            // prefix of the variables in Env; "": SIDETONE_
	UserFile   string            // may be missing
	SystemFile string            // may be missing
	Refused    error             // why SystemFile is not read although it exists; nil: it is read
	Explicit   string            // replaces both files and must exist
	VendorFile string            // the vendor's own defaults; may be missing
}

// Registry is a key of Windows' registry that holds settings.
type Registry struct {
	Key    string            // its full path
	Values map[string]string // by path, as an environment variable would give them
	Err    error             // why they cannot be read
}

// Layer says who has set a value.
type Layer string

// The layers, the weakest first.
const (
	LayerDefault     Layer = "default"
	LayerVendor      Layer = "vendor"
	LayerSystem      Layer = "system"
	LayerUser        Layer = "user"
	LayerExplicit    Layer = "file" // named by --config
	LayerEnvironment Layer = "environment"
	LayerFlag        Layer = "flag"
	LayerPolicy      Layer = "policy"
)

// Setting is the effective value of one setting.
type Setting struct {
	Path   string `json:"path"`
	Value  string `json:"value"` // as a flag or environment variable would give it
	Layer  Layer  `json:"layer"`
	Origin string `json:"origin"` // default, file:line, the variable's name, the flag, or the registry's value
}

// Load reads all settings. In falling order of precedence: policy, flags, environment, the user's file, the
// system's file, the vendor's, defaults. If there is any problem the other results are nil.
func Load(o Options) (*Config, []Setting, []strictyaml.Problem) {
	l := gather(o)
	if len(l.problems) == 0 {
		l.check()
	}
	if len(l.problems) > 0 {
		return nil, nil, l.problems
	}
	return l.config, l.settings(), nil
}

// LoadAddress reads only the settings that say which agent is meant, control.socket and vendor; all others have their defaults.
// If those two or the explicit file have problems, there is no result; others are the problems of other settings and files.
func LoadAddress(o Options) (c *Config, others, problems []strictyaml.Problem) {
	l := gather(o)
	l.check()
	for _, p := range l.problems {
		if p.Path == "$.control.socket" || p.Path == "$.vendor" || o.Explicit != "" && p.File == o.Explicit {
			problems = append(problems, p)
		} else {
			others = append(others, p)
		}
	}
	if len(problems) > 0 {
		return nil, nil, problems
	}
	c = Default()
	c.Control, c.Vendor = l.config.Control, l.config.Vendor
	return c, others, nil
}

// gather reads all sources of settings.
func gather(o Options) *loader {
	c := Default()
	l := &loader{config: c, leaves: leaves(c), origins: make(map[string]origin), home: homeIn(o.Env)}
	l.file(LayerVendor, o.VendorFile, false)
	if o.Explicit != "" {
		l.file(LayerExplicit, o.Explicit, true)
	} else {
		if o.Refused == nil {
			l.file(LayerSystem, o.SystemFile, false)
		}
		l.file(LayerUser, o.UserFile, false)
	}
	l.env(o.EnvPrefix, o.Env)
	l.flags(o.Flags)
	for _, path := range o.Policy {
		l.file(LayerPolicy, path, true)
	}
	for _, r := range o.Registry {
		l.registry(r)
	}
	return l
}

// homeIn returns the user's home folder according to an environment, "" if it is not set there.
func homeIn(env []string) (home string) {
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); (name == "HOME" || name == "USERPROFILE") && filepath.IsAbs(value) {
			home = value
		}
	}
	return home
}

type loader struct {
	config   *Config
	leaves   []leaf
	origins  map[string]origin // by path; absent is the default
	home     string            // the user's home folder; "": unknown
	problems []strictyaml.Problem
}

// origin is where a value comes from: a place in a file, or the name of a variable or flag.
type origin struct {
	layer Layer
	doc   *strictyaml.Document
	name  string
}

func (l *loader) file(layer Layer, path string, required bool) {
	if path == "" {
		return
	}
	data, err := strictyaml.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !required:
		return
	case err != nil:
		if readErr, ok := errors.AsType[*strictyaml.ReadError](err); ok {
			err = readErr.Err
		}
		l.problems = append(l.problems, strictyaml.Problem{File: path, Message: fmt.Sprintf("cannot read the file, %v", err)})
		return
	}
	l.decode(layer, path, data)
}

func (l *loader) decode(layer Layer, path string, data []byte) {
	doc, problems := strictyaml.Decode(path, data, l.config)
	ExplainGone(problems, "$")
	if layer == LayerPolicy && len(problems) == 0 {
		problems = Unset(doc, "$")
	}
	l.problems = append(l.problems, problems...)
	for _, s := range l.leaves {
		if doc.Has("$." + s.Path) {
			l.set(s, origin{layer: layer, doc: doc}, filepath.Dir(path))
		}
	}
}

// Unset returns a problem for each key below path without a value. Such a key has no effect, which its author cannot have
// meant in a policy.
func Unset(doc *strictyaml.Document, path string) []strictyaml.Problem {
	const message = "the value is missing, and so the key decides nothing"
	return doc.Unset(path, message, "write one, or leave the key out")
}

// set records where a value comes from and makes its paths absolute.
func (l *loader) set(s leaf, from origin, dir string) {
	l.origins[s.Path] = from
	for _, p := range l.config.paths() {
		if setting, _, _ := strings.Cut(p.place, "["); setting == s.Path {
			l.absolute(from, p.place, dir, p.value)
		}
	}
}

// absolute makes a path absolute. It expands ~ itself, since no shell does that in a file.
func (l *loader) absolute(from origin, setting, dir string, path *string) {
	first, rest, _ := strings.Cut(filepath.ToSlash(*path), "/")
	switch {
	case *path == "" || filepath.IsAbs(*path):
	case first == "~" && l.home != "":
		*path = filepath.Join(l.home, rest)
	case first == "~":
		l.report(from, setting, *path, "the environment does not say where ~ is", "write the whole path")
	case strings.HasPrefix(first, "~") && rest != "":
		l.report(from, setting, *path, "another user's home is not looked up", "write the whole path")
	case from.layer == LayerPolicy, from.layer == LayerVendor && setting != "catalogue":
		const message = "a relative path, which would lead to where no user may write, or anywhere"
		l.report(from, setting, *path, message, "write the whole path, or ~/ and the rest")
	default:
		abs, err := filepath.Abs(filepath.Join(dir, *path))
		if err != nil {
			l.report(from, setting, *path, fmt.Sprintf("cannot make the path absolute, %v", err), "")
		}
		*path = abs
	}
}

// report adds a problem of a value, at the place where it was set.
func (l *loader) report(from origin, setting, text, message, hint string) {
	p := strictyaml.Problem{File: from.name, Path: "$." + setting, Text: text, Message: message, Hint: hint}
	if from.doc != nil {
		p = from.doc.Problem("$."+setting, message, hint)
	}
	l.problems = append(l.problems, p)
}

const defaultPrefix = "SIDETONE_"

func (l *loader) env(prefix string, environ []string) {
	prefix = cmp.Or(prefix, defaultPrefix)
	values := make(map[string]string)
	for _, kv := range environ {
		if key, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(key, prefix) {
			values[key] = value // of duplicates the last wins, as in os/exec
		}
	}
	own, names := make([]string, len(l.leaves)), make([]string, len(l.leaves))
	for i, s := range l.leaves {
		own[i], names[i] = s.Env, prefix+s.Env
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.Index(names, name)
		switch {
		case i < 0 && mistyped(strings.TrimPrefix(name, prefix), own):
			l.unknown(name, "unknown environment variable", cmp.Or(Gone(strings.TrimPrefix(name, prefix)), strictyaml.Suggest(name, names)))
		case i < 0: // of another program with a similar prefix
		case values[name] != "":
			l.decodeText(LayerEnvironment, l.leaves[i], name, values[name])
		}
	}
}

// mistyped reports whether a name is similar to that of a setting, or that of one that is gone. A name that ends in a setting's belongs to
// a program with a longer prefix, as ACME_AGENT_PRO_LOG_LEVEL beside ACME_AGENT_LOG_LEVEL.
func mistyped(name string, valid []string) bool {
	like := func(v string) bool { return strictyaml.Similar(name, v) }
	return Gone(name) != "" || !ofAnother(name, valid) && slices.ContainsFunc(valid, like)
}

func ofAnother(name string, valid []string) bool {
	return slices.ContainsFunc(valid, func(v string) bool { return strings.HasSuffix(name, "_"+v) })
}

// UnknownVariables returns the variables of an environment, as in Options, that have the prefix and belong to no setting, and are not
// similar enough to one for Load to report them. The settings of a program with a longer prefix are left out.
func UnknownVariables(prefix string, environ []string) []string {
	var own, unknown []string
	for _, k := range Keys() {
		own = append(own, k.Env)
	}
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		name, begins := strings.CutPrefix(key, cmp.Or(prefix, defaultPrefix))
		if begins && value != "" && !slices.Contains(own, name) && !ofAnother(name, own) && !mistyped(name, own) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

func (l *loader) flags(flags map[string]string) {
	l.texts(LayerFlag, flags, func(path string) string { return "--" + flagName(path) }, func(path string) string { return path })
}

func (l *loader) registry(r Registry) {
	if r.Err != nil {
		l.problems = append(l.problems, strictyaml.Problem{File: "policy", Message: r.Err.Error()})
	}
	name := func(path string) string { return r.Key + `\` + path }
	l.texts(LayerPolicy, r.Values, name, name)
}

// texts applies values by the path of their setting. In problems, a value is called name(path), or stray(path) if the path is unknown.
func (l *loader) texts(layer Layer, values map[string]string, name, stray func(path string) string) {
	paths := make([]string, len(l.leaves))
	for i, s := range l.leaves {
		paths[i] = s.Path
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if i := slices.Index(paths, path); i >= 0 {
			l.decodeText(layer, l.leaves[i], name(path), values[path])
		} else {
			l.unknown(stray(path), "unknown setting", cmp.Or(Gone(path), strictyaml.Suggest(path, paths)))
		}
	}
}

// unknown reports an unknown name.
func (l *loader) unknown(name, message, hint string) {
	l.problems = append(l.problems, strictyaml.Problem{File: name, Message: message, Hint: hint})
}

func (l *loader) decodeText(layer Layer, s leaf, name, value string) {
	for _, p := range strictyaml.DecodeText(name, value, s.value.Addr().Interface()) {
		p.Path = "$." + s.Path + strings.TrimPrefix(p.Path, "$")
		l.problems = append(l.problems, p)
	}
	l.set(s, origin{layer: layer, name: name}, "")
}

// check reports invalid values, at the place where they were set.
func (l *loader) check() {
	for _, f := range l.config.Check() {
		setting, _, _ := strings.Cut(f.Path, "[")
		l.report(l.origins[setting], f.Path, f.Text, f.Message, f.Hint)
	}
}

func (l *loader) settings() []Setting {
	out := make([]Setting, len(l.leaves))
	for i, s := range l.leaves {
		out[i] = Setting{Path: s.Path, Value: s.text(), Layer: LayerDefault, Origin: "default"}
		if from, set := l.origins[s.Path]; set {
			out[i].Layer, out[i].Origin = from.layer, from.at("$."+s.Path)
		}
	}
	return out
}

// at returns file:line, or the name of the variable or flag.
func (o origin) at(path string) string {
	if o.doc == nil {
		return o.name
	}
	line, _ := o.doc.Position(path)
	return fmt.Sprintf("%s:%d", o.doc.File(), line)
}
