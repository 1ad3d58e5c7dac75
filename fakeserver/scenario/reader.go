package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/strictyaml"
)

// A Problem is one thing that is wrong with a scenario file.
type Problem = strictyaml.Problem

// A reader turns nodes into values and notes everything that is wrong. A node that is nil
// stands for a value that is absent, or has been reported: it gives the zero value.
type reader struct {
	file     string
	problems []Problem
}

// maxProblems is how many problems of one file are told.
const maxProblems = 100

func (r *reader) add(at *strictyaml.Node, message, hint string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: at.Line, Column: at.Column, Message: message, Hint: hint})
	}
}

func (r *reader) report(n *strictyaml.Node, format string, args ...any) {
	r.add(n, fmt.Sprintf(format, args...), "")
}

// reportKey reports the key rather than of its value.
func (r *reader) reportKey(f strictyaml.Field, format string, args ...any) {
	r.report(keyOf(f), format, args...)
}

func keyOf(f strictyaml.Field) *strictyaml.Node {
	return &strictyaml.Node{Line: f.Line, Column: f.Column}
}

// unknown reports a name that is none of the valid ones, and suggests one.
func (r *reader) unknown(at *strictyaml.Node, what, name string, valid []string) {
	hint := strictyaml.Suggest(name, valid)
	if len(valid) == 0 {
		hint = "there is none"
	}
	r.add(at, what+" "+quote(name), hint)
}

func (r *reader) want(n *strictyaml.Node, what string) {
	found := n.Kind.String()
	if n.Kind < strictyaml.List && n.Text != "" {
		found += " " + quote(n.Text)
	}
	r.report(n, "want %s, found %s", what, found)
}

// quote shows a text that came with the file, cut when it is long.
func quote(s string) string {
	const most = 60 // characters
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}

// keys are the fields of a node by name.
type keys struct {
	reader *reader
	node   *strictyaml.Node
	byName map[string]strictyaml.Field
}

// keys reads the fields of a node whose keys must be among valid. It returns false when the
// node has none.
func (r *reader) keys(n *strictyaml.Node, valid []string) (keys, bool) {
	k := keys{r, n, map[string]strictyaml.Field{}}
	if n == nil {
		return k, false
	}
	if n.Kind != strictyaml.Object {
		r.want(n, "keys with values")
		return k, false
	}
	unused := k.unused(valid)
	for _, f := range n.Fields {
		first, twice := k.byName[f.Name]
		switch {
		case !slices.Contains(valid, f.Name):
			r.unknown(keyOf(f), "unknown key", f.Name, unused)
		case twice:
			r.reportKey(f, "duplicate key %q (first on line %d)", f.Name, first.Line)
		default:
			k.byName[f.Name] = f
			if f.Value.Kind == strictyaml.Null {
				r.reportKey(f, "%q has no value", f.Name)
			}
		}
	}
	return k, true
}

// unused are the names that the node does not have, as a misspelt one is none of the others.
func (k keys) unused(valid []string) []string {
	has := func(name string) bool {
		return slices.ContainsFunc(k.node.Fields, func(f strictyaml.Field) bool { return f.Name == name })
	}
	return slices.DeleteFunc(slices.Clone(valid), has)
}

func (k keys) has(name string) bool {
	_, ok := k.byName[name]
	return ok
}

// value is nil when the key is absent or has no value.
func (k keys) value(name string) *strictyaml.Node {
	if f, ok := k.byName[name]; ok && f.Value.Kind != strictyaml.Null {
		return f.Value
	}
	return nil
}

// need is value for a key that must be there.
func (k keys) need(name string) *strictyaml.Node {
	if !k.has(name) {
		k.reader.report(k.node, "%q is missing", name)
	}
	return k.value(name)
}

func (r *reader) text(n *strictyaml.Node) string {
	switch {
	case n == nil:
	case n.Kind == strictyaml.Number || n.Kind == strictyaml.Boolean:
		r.report(n, "want text, found %v (put it in quotes: %q)", n.Kind, n.Text)
	case n.Kind != strictyaml.Text:
		r.want(n, "text")
	case n.Text == "":
		r.report(n, "empty text")
	default:
		return n.Text
	}
	return ""
}

func (r *reader) oneOf(n *strictyaml.Node, valid ...string) string {
	if n == nil {
		return ""
	}
	if n.Kind != strictyaml.Text && n.Kind != strictyaml.Boolean {
		r.want(n, "one of "+strings.Join(valid, ", "))
		return ""
	}
	if !slices.Contains(valid, n.Text) {
		r.unknown(n, "unknown value", n.Text, valid)
		return ""
	}
	return n.Text
}

func (r *reader) boolean(n *strictyaml.Node) bool {
	if n != nil && (n.Kind != strictyaml.Boolean || n.Text != "true" && n.Text != "false") {
		r.want(n, "true or false")
		return false
	}
	return n != nil && n.Text == "true"
}

// whole reads a whole number between least and most.
func (r *reader) whole(n *strictyaml.Node, least, most int) int {
	if n == nil {
		return 0
	}
	value, err := strconv.Atoi(n.Text)
	switch {
	case n.Kind != strictyaml.Number || err != nil:
		r.want(n, "a whole number")
	case value < least || value > most:
		r.report(n, "want a number from %d to %d, found %d", least, most, value)
	default:
		return value
	}
	return 0
}

func (r *reader) duration(n *strictyaml.Node) time.Duration {
	const want = "a time such as 100ms, 2s or 1m"
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.Text)
	switch {
	case n.Kind == strictyaml.Number && err != nil:
		r.report(n, "want %s, found a number %q (add a unit: %sms)", want, n.Text, n.Text)
	case n.Kind > strictyaml.Text || err != nil:
		r.want(n, want)
	case d <= 0:
		r.report(n, "want %s, above zero", want)
	default:
		return d
	}
	return 0
}

func (r *reader) list(n *strictyaml.Node, what string) []*strictyaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != strictyaml.List:
		r.want(n, what)
	case len(n.Items) == 0:
		r.report(n, "the list is empty, want %s", what)
	}
	return n.Items
}
