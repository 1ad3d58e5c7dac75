package strictyaml

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

type decoder struct {
	doc      *Document
	problems []Problem
}

func (d *decoder) report(n *Node, path, message, hint string) {
	d.problems = append(d.problems, d.doc.problemAt(n.Line, n.Column, path, n.Text, message, hint))
}

// wrong reports that n is not what the type wants.
func (d *decoder) wrong(n *Node, path, want, hint string) {
	d.report(n, path, fmt.Sprintf("want %s, found %s", want, n.Kind), hint)
}

func (d *decoder) value(n *Node, path string, v reflect.Value) {
	if d.doc.script && n.empty() {
		d.report(n, path, "the value is missing", "write one, or leave the key out")
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, path, v.Elem())
		return
	}
	if d.special(n, path, v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		d.text(n, path, v)
	case reflect.Bool:
		d.bool(n, path, v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.int(n, path, v)
	case reflect.Slice:
		d.list(n, path, v)
	case reflect.Map:
		d.dict(n, path, v)
	case reflect.Struct:
		d.object(n, path, v)
	default:
		d.report(n, path, "no value is possible here: "+v.Type().String(), "")
	}
}

// hasUnmarshaler reports whether t decodes itself, whatever its kind.
func hasUnmarshaler(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// special handles the types that are not decoded by their kind.
func (d *decoder) special(n *Node, path string, v reflect.Value) bool {
	switch into := v.Addr().Interface().(type) {
	case *time.Duration:
		d.duration(n, path, into)
	case *time.Time:
		d.time(n, path, into)
	case encoding.TextUnmarshaler:
		if !n.scalar() || n.Kind == Null {
			d.wrong(n, path, "text", "")
		} else if err := into.UnmarshalText([]byte(n.Text)); err != nil {
			d.report(n, path, err.Error(), "")
		}
	case json.Unmarshaler:
		d.unique(n, path) // encoding/json accepts duplicate keys
		if err := into.UnmarshalJSON(n.json()); err != nil {
			d.report(n, path, err.Error(), "")
		}
	default:
		return false
	}
	return true
}

func (d *decoder) duration(n *Node, path string, into *time.Duration) {
	const want = "a duration such as 250ms, 5s or 2m"
	if !n.scalar() || n.Kind == Null {
		d.wrong(n, path, want, "")
		return
	}
	value, err := time.ParseDuration(n.Text)
	if err != nil {
		d.wrong(n, path, want, unitHint(n))
		return
	}
	*into = value
}

func unitHint(n *Node) string {
	if n.Kind == Number {
		return "add a unit: " + n.Text + "s"
	}
	return ""
}

func (d *decoder) time(n *Node, path string, into *time.Time) {
	value, err := time.Parse(time.RFC3339, n.Text)
	if err != nil {
		d.wrong(n, path, "a time such as 2026-01-31T15:04:05Z", "")
		return
	}
	*into = value
}

func (d *decoder) text(n *Node, path string, v reflect.Value) {
	names := enumOf(v.Type())
	switch {
	case n.Kind == Number || n.Kind == Boolean:
		d.wrong(n, path, "text", fmt.Sprintf("put it in quotes: %q", n.Text))
	case n.Kind != Text && names != nil:
		d.wrong(n, path, "one of "+strings.Join(names, ", "), "")
	case n.Kind != Text:
		d.wrong(n, path, "text", "")
	case names != nil && !slices.Contains(names, n.Text):
		d.report(n, path, "unknown value", Suggest(n.Text, names))
	default:
		v.SetString(n.Text)
	}
}

func (d *decoder) bool(n *Node, path string, v reflect.Value) {
	switch {
	case n.Kind == Boolean && n.Text == "true":
		v.SetBool(true)
	case n.Kind == Boolean && n.Text == "false":
		v.SetBool(false)
	case n.Kind == Boolean:
		d.report(n, path, "want true or false in lower case", "")
	case n.Kind == Text && classify(n.Text) == Boolean:
		d.wrong(n, path, "true or false", "remove the quotes")
	default:
		d.wrong(n, path, "true or false", "")
	}
}

func (d *decoder) int(n *Node, path string, v reflect.Value) {
	const want = "a whole number"
	if n.Kind == Text && classify(n.Text) == Number {
		d.wrong(n, path, want, "remove the quotes")
		return
	}
	if n.Kind != Number {
		d.wrong(n, path, want, "")
		return
	}
	value, err := strconv.ParseInt(n.Text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && v.OverflowInt(value):
		d.report(n, path, "the number is out of range", "")
	case err != nil || strconv.FormatInt(value, 10) != n.Text:
		// Some readers take 0710 for octal.
		d.report(n, path, "want a whole number in decimal digits", "")
	default:
		v.SetInt(value)
	}
}

func (d *decoder) list(n *Node, path string, v reflect.Value) {
	if n.Kind != List {
		d.wrong(n, path, "a list", "")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.value(item, index(path, i), out.Index(i))
	}
	v.Set(out)
}
