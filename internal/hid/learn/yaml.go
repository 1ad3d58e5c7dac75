package learn

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
)

// YAML returns the proposal as an item of a product's sources, indented as in the example catalogue.
func (p Proposal) YAML() string {
	source := flow(reflect.ValueOf(p.Rule.SourceKind))
	return fmt.Sprintf("      - field: %s\n        %s\n", p.Rule.Field, source[1:len(source)-1])
}

// LinkYAML returns the link that the proposal's product needs.
func (p Proposal) LinkYAML() string {
	return fmt.Sprintf("{kind: %s, vid: %q, pids: [%q]}", linkKind(p.Device), p.Device.VID, p.Device.PID)
}

// flow formats a part of a catalogue on one line: bytes in hex, text in quotes, enumerations without.
func flow(v reflect.Value) string {
	switch v := v.Interface().(type) {
	case catalogue.Byte:
		return fmt.Sprintf("0x%02x", int(v))
	case hid.Bytes:
		text, _ := v.MarshalText() // never fails
		return strconv.Quote(string(text))
	case string:
		return strconv.Quote(v)
	}
	var items []string
	switch v.Kind() {
	case reflect.Pointer:
		return flow(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			items = append(items, flow(v.Index(i)))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Struct:
		for i := range v.NumField() {
			key, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if option != "omitempty" || !v.Field(i).IsZero() {
				items = append(items, key+": "+flow(v.Field(i)))
			}
		}
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return fmt.Sprint(v)
	}
}
