package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reader turns nodes into values and notes everything that is wrong. A node that is nil
// stands for a value that is absent, or has been complained of: it gives the zero value.
type reader struct {
	file     string
	problems []Problem
}

// maxProblems is how many problems of one file are told.
const maxProblems = 100

func (r *reader) complain(n *node, format string, args ...any) {
	if len(r.problems) == maxProblems {
		return
	}
	r.problems = append(r.problems, Problem{r.file, n.line, n.col, fmt.Sprintf(format, args...)})
}

func (r *reader) want(n *node, what string) {
	found := n.kind.String()
	if n.kind < list && n.text != "" {
		found += " " + quote(n.text)
	}
	r.complain(n, "want %s, found %s", what, found)
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
	node   *node
	byName map[string]field
}

// keys reads the fields of a node whose keys must be among valid. It returns false when the
// node has none.
func (r *reader) keys(n *node, valid []string) (keys, bool) {
	k := keys{r, n, map[string]field{}}
	if n == nil {
		return k, false
	}
	if n.kind != object {
		r.want(n, "keys with values")
		return k, false
	}
	unused := k.unused(valid)
	for _, f := range n.fields {
		first, twice := k.byName[f.name]
		switch {
		case !slices.Contains(valid, f.name):
			r.complain(f.key, "unknown key %s (%s)", quote(f.name), suggest(f.name, unused))
		case twice:
			r.complain(f.key, "duplicate key %q (first on line %d)", f.name, first.key.line)
		default:
			k.byName[f.name] = f
			if f.value.kind == null {
				r.complain(f.key, "%q has no value", f.name)
			}
		}
	}
	return k, true
}

// unused are the names that the node does not have, as a misspelt one is none of the others.
func (k keys) unused(valid []string) []string {
	has := func(name string) bool {
		return slices.ContainsFunc(k.node.fields, func(f field) bool { return f.name == name })
	}
	return slices.DeleteFunc(slices.Clone(valid), has)
}

func (k keys) has(name string) bool {
	_, ok := k.byName[name]
	return ok
}

// value is nil when the key is absent or has no value.
func (k keys) value(name string) *node {
	if f, ok := k.byName[name]; ok && f.value.kind != null {
		return f.value
	}
	return nil
}

// need is value for a key that must be there.
func (k keys) need(name string) *node {
	if !k.has(name) {
		k.reader.complain(k.node, "%q is missing", name)
	}
	return k.value(name)
}

func (r *reader) text(n *node) string {
	switch {
	case n == nil:
	case n.kind == number || n.kind == boolean:
		r.complain(n, "want text, found %v (put it in quotes: %q)", n.kind, n.text)
	case n.kind != text:
		r.want(n, "text")
	case n.text == "":
		r.complain(n, "empty text")
	default:
		return n.text
	}
	return ""
}

func (r *reader) oneOf(n *node, valid ...string) string {
	if n == nil {
		return ""
	}
	if n.kind != text && n.kind != boolean {
		r.want(n, "one of "+strings.Join(valid, ", "))
		return ""
	}
	if !slices.Contains(valid, n.text) {
		r.complain(n, "unknown value %s (%s)", quote(n.text), suggest(n.text, valid))
		return ""
	}
	return n.text
}

func (r *reader) boolean(n *node) bool {
	if n != nil && (n.kind != boolean || n.text != "true" && n.text != "false") {
		r.want(n, "true or false")
		return false
	}
	return n != nil && n.text == "true"
}

// whole reads a whole number between least and most.
func (r *reader) whole(n *node, least, most int) int {
	if n == nil {
		return 0
	}
	value, err := strconv.Atoi(n.text)
	switch {
	case n.kind != number || err != nil:
		r.want(n, "a whole number")
	case value < least || value > most:
		r.complain(n, "want a number from %d to %d, found %d", least, most, value)
	default:
		return value
	}
	return 0
}

func (r *reader) duration(n *node) time.Duration {
	const want = "a time such as 100ms, 2s or 1m"
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.text)
	switch {
	case n.kind == number && err != nil:
		r.complain(n, "want %s, found a number %q (add a unit: %sms)", want, n.text, n.text)
	case n.kind > text || err != nil:
		r.want(n, want)
	case d <= 0:
		r.complain(n, "want %s, above zero", want)
	default:
		return d
	}
	return 0
}

func (r *reader) list(n *node, what string) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind != list:
		r.want(n, what)
	case len(n.items) == 0:
		r.complain(n, "the list is empty, want %s", what)
	}
	return n.items
}
