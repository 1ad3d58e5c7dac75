package main

import (
	"reflect"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"0 devices", "1 device", "2 devices"} {
		require.Equal(t, want, count(n, "device"))
	}
}

func TestLineAndRow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	line(&b, "%d. %s", 1, "a\nb\x1b")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row(table, "a\tb", "c\n")
	row(table, "a", "c")
	require.NoError(t, table.Flush())
	require.Equal(t, "1. a\uFFFDb\uFFFD\na\uFFFDb  c\uFFFD\na    c\n", b.String())
}

// hostile is what a device or a program may call itself: it names the terminal's window, colours
// the text, forges a line, writes from the right to the left, and is no UTF-8.
const hostile = "Evil\x1b]0;owned\a \x1b[31mRED\r\nforged\u2028line\u202e\u009b\xff\t"

// fill sets all that v holds to text where that is possible, and gives each list and map one element.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[health.Condition]() {
			v.Set(reflect.ValueOf(health.Explained(text)[0]))
			return
		}
		for _, f := range v.Fields() {
			if f.CanSet() && v.Type() != reflect.TypeFor[time.Time]() {
				fill(f, text)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, text)
		v.SetMapIndex(reflect.ValueOf(text).Convert(v.Type().Key()), value)
		if v.Type().Key() == reflect.TypeFor[devices.Field]() {
			v.SetMapIndex(reflect.ValueOf(devices.HardwareMute), value)
		}
	}
}

// filled is a T in which every text is this one.
func filled[T any](text string) (v T) {
	fill(reflect.ValueOf(&v).Elem(), text)
	return v
}

// TestHostileNames: whatever names there are, what is printed of them acts on no terminal and takes
// as many lines as with harmless ones.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	input := func(name string) doctor.Facts {
		in := doctor.Facts{Status: new(filled[control.Status](name)), Devices: filled[control.Devices](name), CataloguePath: name}
		in.Sources, in.HID = in.Status.Sources, in.Status.HID
		in.Catalogue = &catalogue.Catalogue{Vendor: filled[catalogue.Vendor](name), Products: []catalogue.Product{{ID: name, Name: name, Links: filled[[]catalogue.Link](name)}}}
		return in
	}
	microphone := func(in doctor.Facts) doctor.Facts {
		in.Devices.Reported[0].Type, in.Devices.Endpoints[0].Type, in.Devices.Reported[0].Endpoints[0].Type = devices.AudioInput, devices.AudioInput, devices.AudioInput
		return in
	}
	for what, show := range map[string]func(b *strings.Builder, name string) error{
		"devices": func(b *strings.Builder, name string) error {
			sources, found := filled[[]control.Source](name), filled[control.Devices](name)
			printDevices(b, sources, found)
			sources[0].Reason, found.Endpoints[0].Virtual = nil, true
			printDevices(b, sources, found)
			return nil
		},
		"status": func(b *strings.Builder, name string) error {
			st := filled[control.Status](name)
			st.Products = append(st.Products, control.Product{ID: name, Unit: "2"})
			return printStatus(b, health.English, st, filled[control.Devices](name), doctortest.Now)
		},
		"status without clients": func(b *strings.Builder, name string) error {
			st := filled[control.Status](name)
			st.Clients.Sessions, st.Sources[0].Reason, st.HID[0].Sources[0].Remark = nil, nil, nil
			st.HID[0].Sources[0].Value = devices.True
			return printStatus(b, health.English, st, filled[control.Devices](name), doctortest.Now)
		},
		"explain": func(b *strings.Builder, name string) error {
			in := microphone(input(name))
			in.Devices.Reported[0].Flags[devices.HardwareMute] = devices.Flag{Value: devices.True, Origin: devices.Origin{Via: name, Detail: name}}
			return explain(b, health.English, in, in.Devices.Endpoints[0])
		},
		"explain what is not reported": func(b *strings.Builder, name string) error {
			in := input(name)
			in.Devices.Reported = nil
			return explain(b, health.English, in, in.Devices.Endpoints[0])
		},
		"doctor": func(b *strings.Builder, name string) error {
			return printFindings(b, health.English, doctor.Examine(microphone(input(name))))
		},
	} {
		t.Run(what, func(t *testing.T) {
			var harmless, out strings.Builder
			require.NoError(t, show(&harmless, "Acme"))
			require.NoError(t, show(&out, hostile))
			require.Contains(t, harmless.String(), "Acme")
			require.Contains(t, out.String(), "forged")
			require.Equal(t, strings.Count(harmless.String(), "\n"), strings.Count(out.String(), "\n"), out.String())
			for _, r := range out.String() {
				require.True(t, r == '\n' || unicode.IsGraphic(r), "%q in %q", r, out.String())
			}
			require.True(t, strings.ToValidUTF8(out.String(), "") == out.String())
		})
	}
}
