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

func (d *decoder) report(n *node, path, message, hint string) {
	d.problems = append(d.problems, d.doc.problemAt(n.line, n.column, path, n.text, message, hint))
}

// wrong reports that n does not have the wanted form.
func (d *decoder) wrong(n *node, path, want, hint string) {
	d.report(n, path, fmt.Sprintf("want %s, found %s", want, n.kind), hint)
}

func (d *decoder) value(n *node, path string, v reflect.Value) {
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

// special handles the types that are not decoded by their kind.
func (d *decoder) special(n *node, path string, v reflect.Value) bool {
	switch into := v.Addr().Interface().(type) {
	case *time.Duration:
		d.duration(n, path, into)
	case *time.Time:
		d.time(n, path, into)
	case encoding.TextUnmarshaler:
		if !n.scalar() || n.kind == kindNull {
			d.wrong(n, path, "text", "")
		} else if err := into.UnmarshalText([]byte(n.text)); err != nil {
			d.report(n, path, err.Error(), "")
		}
	case json.Unmarshaler:
		d.unique(n, path)                  // encoding/json accepts duplicate keys
		text, _ := json.Marshal(n.plain()) // cannot fail for these types
		if err := into.UnmarshalJSON(text); err != nil {
			d.report(n, path, err.Error(), "")
		}
	default:
		return false
	}
	return true
}

func (d *decoder) duration(n *node, path string, into *time.Duration) {
	value, err := time.ParseDuration(n.text) // fails for "", the text of everything but a scalar
	if err != nil {
		hint := ""
		if n.kind == kindNumber {
			hint = "add a unit: " + n.text + "s"
		}
		d.wrong(n, path, "a duration such as 250ms, 5s or 2m", hint)
		return
	}
	*into = value
}

func (d *decoder) time(n *node, path string, into *time.Time) {
	value, err := time.Parse(time.RFC3339, n.text)
	if err != nil {
		d.wrong(n, path, "a time such as 2026-01-31T15:04:05Z", "")
		return
	}
	*into = value
}

func (d *decoder) text(n *node, path string, v reflect.Value) {
	names := EnumOf(v.Type())
	switch {
	case n.kind == kindNumber || n.kind == kindBoolean:
		d.wrong(n, path, "text", fmt.Sprintf("put it in quotes: %q", n.text))
	case n.kind != kindText && names != nil:
		d.wrong(n, path, "one of "+strings.Join(names, ", "), "")
	case n.kind != kindText:
		d.wrong(n, path, "text", "")
	case names != nil && !slices.Contains(names, n.text):
		d.report(n, path, "unknown value", Suggest(n.text, names))
	default:
		v.SetString(n.text)
	}
}

func (d *decoder) bool(n *node, path string, v reflect.Value) {
	switch {
	case n.kind == kindBoolean && n.text == "true":
		v.SetBool(true)
	case n.kind == kindBoolean && n.text == "false":
		v.SetBool(false)
	case n.kind == kindBoolean:
		d.report(n, path, "want true or false in lower case", "")
	case n.kind == kindText && classify(n.text) == kindBoolean:
		d.wrong(n, path, "true or false", "remove the quotes")
	default:
		d.wrong(n, path, "true or false", "")
	}
}

func (d *decoder) int(n *node, path string, v reflect.Value) {
	const want = "a whole number"
	if n.kind == kindText && classify(n.text) == kindNumber {
		d.wrong(n, path, want, "remove the quotes")
		return
	}
	if n.kind != kindNumber {
		d.wrong(n, path, want, "")
		return
	}
	value, err := strconv.ParseInt(n.text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && v.OverflowInt(value):
		d.report(n, path, "the number is out of range", "")
	case err != nil || strconv.FormatInt(value, 10) != n.text:
		// Some readers take 0710 for octal.
		d.report(n, path, "want a whole number in decimal digits", "")
	default:
		v.SetInt(value)
	}
}

func (d *decoder) list(n *node, path string, v reflect.Value) {
	if n.kind != kindList {
		d.wrong(n, path, "a list", "")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), out.Index(i))
	}
	v.Set(out)
}
