package descriptor

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// itemBytes reads items as pairs of hex digits, one item a line, with comments behind #.
func itemBytes(t testing.TB, text string) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(text) {
		digits, _, _ := strings.Cut(line, "#")
		item, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		require.NoError(t, err, line)
		b = append(b, item...)
	}
	return b
}

func storedItems(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "descriptors", name+".txt"))
	require.NoError(t, err)
	return itemBytes(t, string(text))
}

func parseItems(t testing.TB, b []byte) *Descriptor {
	t.Helper()
	d, err := Parse(b)
	require.NoError(t, err)
	return d
}

func theField(t testing.TB, d *Descriptor, kind Kind, page, usage uint16) Field {
	t.Helper()
	found := d.Find(kind, page, usage)
	require.Len(t, found, 1, "fields of usage %04x:%04x", page, usage)
	return found[0]
}

// bare leaves out what is not exported, so that fields can be compared.
func bare(fields []Field) []Field {
	var all []Field
	for _, f := range fields {
		f.usages = nil
		all = append(all, f)
	}
	return all
}

func TestHeadset(t *testing.T) {
	cases := map[string]struct {
		mute    Field
		control Control
		values  map[byte]int32 // first data byte of a report: value of mute
		unknown []byte
	}{
		"headset-level": {
			Field{Offset: 9, Size: 1, Max: 1, NoPreferred: true},
			Level,
			map[byte]int32{0b00: 0, 0b01: 0, 0b10: 1, 0b11: 1},
			nil,
		},
		"headset-momentary": {
			Field{Offset: 9, Size: 1, Max: 1, Relative: true},
			Momentary,
			map[byte]int32{0b00: 0, 0b01: 0, 0b10: 1, 0b11: 1},
			nil,
		},
		"headset-buttons": {
			Field{Offset: 9, Size: 2, Min: -1, Max: 1, Relative: true, NoPreferred: true},
			Buttons,
			map[byte]int32{0b000: 0, 0b001: 0, 0b010: 1, 0b110: -1, 0b111: -1},
			[]byte{0b100, 0b101},
		},
		"headset-illegal": {
			Field{Offset: 9, Size: 1, Max: 1},
			"",
			map[byte]int32{0b00: 0, 0b01: 0, 0b10: 1, 0b11: 1},
			nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, storedItems(t, name))
			c.mute.Kind, c.mute.ReportID, c.mute.Count = Input, 2, 1
			c.mute.Page, c.mute.Usage = 0x0b, 0x2f
			mute := theField(t, d, Input, 0x0b, 0x2f)
			require.Equal(t, c.mute, mute)
			require.Equal(t, c.control, mute.Control())
			for first, want := range c.values {
				v, ok := mute.Value([]byte{2, first})
				require.True(t, ok, "%08b", first)
				require.Equal(t, want, v, "%08b", first)
			}
			for _, first := range c.unknown {
				_, ok := mute.Value([]byte{2, first})
				require.False(t, ok, "%08b is outside the range", first)
			}
			for _, report := range [][]byte{nil, {}, {2}, {3, 0xff}, {0, 2}} {
				_, ok := mute.Value(report)
				require.False(t, ok, "% x", report)
			}

			require.True(t, d.Numbered)
			require.Equal(t, []uint32{0x0b0005}, d.Applications)
			require.Len(t, d.Fields, 5, "no padding")
			require.Equal(t, Level, theField(t, d, Input, 0x0b, 0x20).Control())
			require.Equal(t, 8, theField(t, d, Output, 0x08, 0x17).Offset)
			require.Equal(t, 9, theField(t, d, Output, 0x08, 0x09).Offset)
			require.Equal(t, 10, theField(t, d, Output, 0x08, 0x18).Offset)
			require.Empty(t, d.Find(Output, 0x0b, 0x2f), "mute is no output")
			require.Empty(t, d.Find(Input, 0x0b, 0x17), "a lamp's usage on another page")
			require.Equal(t, 2, d.Length(Input, 2))
			require.Equal(t, 2, d.Length(Output, 2))
			require.Zero(t, d.Length(Feature, 2))
			require.Zero(t, d.Length(Input, 1))
			require.Zero(t, d.Length(Input, 0))
		})
	}
}

func TestArrayOfUsages(t *testing.T) {
	d := parseItems(t, storedItems(t, "consumer-array"))
	require.Equal(t, []Field{{
		Kind: Input, ReportID: 3, Offset: 8, Size: 8, Array: true, Count: 2, Max: 255,
	}}, bare(d.Fields))
	require.Equal(t, 3, d.Length(Input, 3))

	mute := theField(t, d, Input, 0x0c, 0xe2)
	require.Empty(t, mute.Control())
	require.Equal(t, []uint16{0x0c, 0xe2}, []uint16{mute.Page, mute.Usage})
	cases := map[string]struct {
		report  []byte
		value   int32
		pressed []uint32
		ok      bool
	}{
		"none":             {[]byte{3, 0, 0}, 0, []uint32{0x0c0000, 0x0c0000}, true},
		"first":            {[]byte{3, 0xe2, 0}, 1, []uint32{0x0c00e2, 0x0c0000}, true},
		"second":           {[]byte{3, 0xe9, 0xe2}, 1, []uint32{0x0c00e9, 0x0c00e2}, true},
		"others":           {[]byte{3, 0xe9, 0xea}, 0, []uint32{0x0c00e9, 0x0c00ea}, true},
		"longer":           {[]byte{3, 0, 0, 0xe2}, 0, []uint32{0x0c0000, 0x0c0000}, true},
		"too short":        {[]byte{3, 0xe2}, 0, nil, false},
		"another number":   {[]byte{2, 0xe2, 0}, 0, nil, false},
		"without a number": {nil, 0, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v, ok := mute.Value(c.report)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.value, v)
			pressed, ok := d.Fields[0].pressed(c.report)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.pressed, pressed)
		})
	}
	_, ok := d.Fields[0].Value([]byte{3, 0, 0})
	require.False(t, ok, "nobody said which usage")
	require.Empty(t, d.Find(Input, 0x0c, 0x100), "behind the last")
	require.Empty(t, d.Find(Input, 0x0b, 0xe2), "on another page")
}

// TestArrayNumbersItsUsages is about reports in which a value is a place in the list.
func TestArrayNumbersItsUsages(t *testing.T) {
	d := parseItems(t, storedItems(t, "consumer-keys"))
	require.False(t, d.Numbered)
	require.Equal(t, 1, d.Length(Input, 0))
	mute := theField(t, d, Input, 0x0c, 0xe2)
	for value, want := range [][]uint32{nil, {0x0c00e9}, {0x0c00ea}, {0x0c00e2}} {
		report := []byte{byte(value) | 0xfc} // padding may be anything
		pressed, ok := d.Fields[0].pressed(report)
		require.True(t, ok)
		require.Equal(t, want, pressed)
		v, ok := mute.Value(report)
		require.True(t, ok)
		require.Equal(t, value == 3, v == 1)
	}
}

func TestVendorsOwn(t *testing.T) {
	d := parseItems(t, storedItems(t, "vendor-blobs"))
	require.Equal(t, []uint32{0xff430202, 0xffb00001}, d.Applications)
	require.Equal(t, 20, d.Length(Input, 0x11))
	require.Equal(t, 20, d.Length(Output, 0x11))
	require.Equal(t, 65, d.Length(Input, 5))
	require.Equal(t, 65, d.Length(Feature, 5))

	bytes64 := d.Find(Input, 0xffb0, 2)
	require.Len(t, bytes64, 64)
	report := make([]byte, 65)
	report[0], report[64] = 5, 0xfe
	v, ok := bytes64[63].Value(report)
	require.True(t, ok)
	require.Equal(t, int32(0xfe), v)

	blob := theField(t, d, Feature, 0xffb0, 3)
	require.Equal(t, []int{8, 512}, []int{blob.Offset, blob.Size})
	_, ok = blob.Value(report)
	require.False(t, ok, "no number has 512 bits")

	require.Equal(t, 19, theField(t, d, Input, 0xff43, 2).Count)
}

func TestKeyboardWithoutNumbers(t *testing.T) {
	d := parseItems(t, storedItems(t, "keyboard"))
	require.False(t, d.Numbered)
	require.Equal(t, 8, d.Length(Input, 0))
	require.Equal(t, 1, d.Length(Output, 0))
	require.Len(t, d.Fields, 8+5+1)

	report := []byte{0b0000_0010, 0xff, 0x04, 0x10, 0, 0, 0, 0x66} // left shift, a, m, one that is out of range
	shift, control := theField(t, d, Input, 0x07, 0xe1), theField(t, d, Input, 0x07, 0xe0)
	v, ok := shift.Value(report)
	require.True(t, ok)
	require.Equal(t, int32(1), v)
	v, ok = control.Value(report)
	require.True(t, ok)
	require.Zero(t, v)
	pressed, ok := theField(t, d, Input, 0x07, 0x10).pressed(report)
	require.True(t, ok)
	require.Equal(t, []uint32{0x070004, 0x070010, 0x070000, 0x070000, 0x070000}, pressed)
	_, ok = shift.pressed(report)
	require.False(t, ok, "shift is no array")
}

func TestComposite(t *testing.T) {
	d := parseItems(t, storedItems(t, "composite"))
	require.Equal(t, []uint32{0x0c0001, 0x0b0005, 0xff000001}, d.Applications)
	telephony := Field{Kind: Input, ReportID: 2, Size: 1, Count: 1, Max: 1, Page: 0x0b}
	hook, mute := telephony, telephony
	hook.Offset, hook.Usage, hook.NoPreferred = 8, 0x20, true
	mute.Offset, mute.Usage, mute.Relative = 9, 0x2f, true
	vendor := Field{Kind: Feature, ReportID: 8, Size: 8, Count: 1, Max: 255, Page: 0xff00}
	first, second, third := vendor, vendor, vendor
	first.Offset, first.Usage = 8, 2
	second.Offset, second.Usage = 16, 3
	third.Offset, third.Usage = 24, 3 // the last usage is for all that follow
	require.Equal(t, []Field{
		{Kind: Input, ReportID: 1, Offset: 8, Size: 1, Count: 1, Max: 1, Page: 0x0c, Usage: 0xe9},
		{Kind: Input, ReportID: 1, Offset: 9, Size: 1, Count: 1, Max: 1, Page: 0x0c, Usage: 0xea},
		hook,
		{Kind: Input, ReportID: 4, Offset: 8, Size: 4, Array: true, Count: 1, Min: 1, Max: 12},
		mute,
		first, second, third,
	}, bare(d.Fields))
	require.Equal(t, []int{2, 2, 2, 4}, []int{
		d.Length(Input, 1), d.Length(Input, 2), d.Length(Input, 4), d.Length(Feature, 8),
	})
	v, ok := theField(t, d, Input, 0x0b, 0xbb).Value([]byte{4, 0x0c})
	require.True(t, ok)
	require.Equal(t, int32(1), v)
}

// TestRange is about how the ends of the logical range are read, and which values it lets through.
func TestRange(t *testing.T) {
	cases := map[string]struct {
		items    string
		min, max int32
		values   map[byte]int32
		unknown  []byte
	}{
		"one bit":                     {"15 00  25 01  75 01", 0, 1, map[byte]int32{0: 0, 1: 1, 0xfe: 0, 0xff: 1}, nil},
		"the maximum has a sign":      {"15 81  25 ff  75 08", -127, -1, map[byte]int32{0x81: -127, 0xff: -1}, []byte{0, 1, 0x80}},
		"two bytes for 255":           {"15 00  26 ff 00  75 08", 0, 255, map[byte]int32{0: 0, 0xff: 255}, nil},
		"one byte for 255":            {"15 00  25 ff  75 08", 0, 255, map[byte]int32{0: 0, 0xff: 255}, nil},
		"the maximum comes first":     {"25 ff  15 f0  75 08", -16, -1, map[byte]int32{0xf0: -16}, []byte{0, 0xef}},
		"two bytes below zero":        {"16 00 80  26 ff 7f  75 08", -32768, 32767, map[byte]int32{0xff: -1, 0x7f: 127}, nil},
		"four bytes":                  {"17 00 00 00 80  27 ff ff ff 7f  75 08", -1 << 31, 1<<31 - 1, map[byte]int32{0x80: -128}, nil},
		"more than fits":              {"15 00  27 ff ff ff ff  75 08", 0, 1<<31 - 1, map[byte]int32{0xff: 255}, nil},
		"no data means zero":          {"14  24  75 08", 0, 0, map[byte]int32{0: 0}, []byte{1}},
		"outside is nothing":          {"15 01  25 03  75 02", 1, 3, map[byte]int32{1: 1, 3: 3}, []byte{0}},
		"nothing is between 5 and 2":  {"15 05  25 02  75 08", 5, 2, nil, []byte{0, 2, 3, 5, 0xff}},
		"a sign of its own width":     {"15 fe  25 01  75 02", -2, 1, map[byte]int32{0b00: 0, 0b01: 1, 0b10: -2, 0b11: -1}, nil},
		"not declared: nothing but 0": {"75 01", 0, 0, map[byte]int32{0: 0}, []byte{1}},
		"a negative maximum alone":    {"25 80  75 08", 0, 128, map[byte]int32{0x80: 128}, []byte{0x81}},
		"the range is as it was last": {"15 00  25 01  25 07  75 08", 0, 7, map[byte]int32{7: 7}, []byte{8}},
		"one bit with a sign":         {"15 ff  25 01  75 01", -1, 1, map[byte]int32{0: 0, 1: -1}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, itemBytes(t, "05 0b 95 01 09 2f "+c.items+" 81 02"))
			f := theField(t, d, Input, 0x0b, 0x2f)
			require.Equal(t, []int32{c.min, c.max}, []int32{f.Min, f.Max})
			for b, want := range c.values {
				v, ok := f.Value([]byte{b})
				require.True(t, ok, "%#x", b)
				require.Equal(t, want, v, "%#x", b)
			}
			for _, b := range c.unknown {
				_, ok := f.Value([]byte{b})
				require.False(t, ok, "%#x", b)
			}
		})
	}
}

// TestValueAcrossBytes reads 32 bits that begin within a byte.
func TestValueAcrossBytes(t *testing.T) {
	report := []byte{7, 0b0111_1000, 0xd6, 0x34, 0x12, 0b1000_0100}
	cases := map[string]struct {
		items string
		want  int32
		ok    bool
	}{
		"32 bits with a sign":    {"17 00 00 00 80  27 ff ff ff 7f  75 20", 0x41234d67, true},
		"32 bits without":        {"15 00  27 ff ff ff 7f  75 20", 0x41234d67, true},
		"33 bits are no number":  {"15 00  27 ff ff ff 7f  75 21", 0, false},
		"36 bits fill the bytes": {"15 00  27 ff ff ff 7f  75 24", 0, false},
		"12 bits":                {"15 00  26 ff 0f  75 0c", 0xd67, true},
		"12 bits, negative":      {"16 00 f8  26 ff 07  75 0c", 0xd67 - 0x1000, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, itemBytes(t, "85 07  75 04 95 01 81 01  05 0b 09 2f "+c.items+" 81 02"))
			f := theField(t, d, Input, 0x0b, 0x2f)
			require.Equal(t, 12, f.Offset)
			v, ok := f.Value(report)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.want, v)
			}
			_, ok = f.Value(report[:(f.Offset+f.Size-1)/8])
			require.False(t, ok, "one byte is missing")
		})
	}
}

// TestUsages is about which usages an item gets. They are compared with their pages.
func TestUsages(t *testing.T) {
	cases := map[string]struct {
		items string
		want  []uint32
	}{
		"one each":                        {"05 0b  09 20  09 2f  95 02  81 02", []uint32{0x0b0020, 0x0b002f}},
		"the last is for all that follow": {"05 0b  09 20  09 2f  95 04  81 02", []uint32{0x0b0020, 0x0b002f, 0x0b002f, 0x0b002f}},
		"more than there are values":      {"05 0b  09 20  09 2f  95 01  81 02", []uint32{0x0b0020}},
		"a range":                         {"05 0b  19 20  29 22  95 03  81 02", []uint32{0x0b0020, 0x0b0021, 0x0b0022}},
		"a range from its end":            {"05 0b  29 22  19 20  95 03  81 02", []uint32{0x0b0020, 0x0b0021, 0x0b0022}},
		"the last of a range goes on":     {"05 0b  19 20  29 21  95 03  81 02", []uint32{0x0b0020, 0x0b0021, 0x0b0021}},
		"ranges and usages":               {"05 0b  19 20  29 21  09 2f  19 30  29 30  95 04  81 02", []uint32{0x0b0020, 0x0b0021, 0x0b002f, 0x0b0030}},
		"an empty range":                  {"05 0b  09 2f  19 22  29 20  95 01  81 02", []uint32{0x0b002f}},
		"half a range":                    {"05 0b  19 22  95 01  81 02", nil},
		"half a range ends with its item": {"05 0b  19 20  95 01  81 02  29 22  81 02", nil},
		"with a page of its own":          {"05 0b  0b 09 00 08 00  95 01  81 02", []uint32{0x080009}},
		"a range with pages":              {"05 0b  1b 01 00 08 00  2b 02 00 08 00  95 02  81 02", []uint32{0x080001, 0x080002}},
		"a range with one page, below":    {"05 0b  1b 01 00 08 00  29 02  95 02  81 02", []uint32{0x080001, 0x080002}},
		"a range with one page, above":    {"05 0b  19 01  2b 02 00 08 00  95 02  81 02", []uint32{0x080001, 0x080002}},
		"a range over pages":              {"05 0b  1b 01 00 08 00  2b 02 00 09 00  95 02  81 02", nil},
		"the page comes last":             {"05 01  09 2f  19 30  29 31  05 0b  95 03  81 02", []uint32{0x0b002f, 0x0b0030, 0x0b0031}},
		"each has its page":               {"05 08  09 09  05 0b  09 2f  95 02  81 02", []uint32{0x080009, 0x0b002f}},
		"the page does not come again":    {"05 01  0b 09 00 08 00  09 2f  05 0b  95 02  81 02", []uint32{0x080009, 0x0b002f}},
		"page of a collection":            {"05 01  09 05  05 0b  a1 01  09 2f  95 01  81 02  c0", []uint32{0x0b002f}},
		"two bytes":                       {"06 00 ff  0a 2f 01  95 01  81 02", []uint32{0xff00012f}},
		"four bytes of a page":            {"07 0b 00 01 00  09 2f  95 01  81 02", []uint32{0x0b002f}},
		"no bytes":                        {"05 0b  08  95 01  81 02", []uint32{0x0b0000}},
		"used up by the item":             {"05 0b  09 2f  95 01  81 02  81 02", []uint32{0x0b002f}},
		"used up by padding":              {"05 0b  09 2f  95 01  81 01  81 02", nil},
		"used up by a collection":         {"05 0b  09 2f  a1 01  95 01  81 02  c0", nil},
		"used up by its end":              {"05 0b  a1 01  09 2f  c0  95 01  81 02", nil},
		"alternatives: the first":         {"05 0b  a9 01  09 2f  09 20  09 21  a9 00  09 30  95 02  81 02", []uint32{0x0b002f, 0x0b0030}},
		"alternatives: a range":           {"05 0b  a9 01  19 2f  29 30  09 21  a9 00  95 02  81 02", []uint32{0x0b002f, 0x0b0030}},
		"alternatives: each set":          {"05 0b  a9 01  09 2f  09 20  a9 00  a9 01  09 30  09 21  a9 00  95 02  81 02", []uint32{0x0b002f, 0x0b0030}},
		"alternatives without an end":     {"05 0b  a9 01  09 2f  09 20  95 01  81 02  09 30  09 31  95 02  81 02", []uint32{0x0b002f, 0x0b0030, 0x0b0031}},
		"none at all":                     {"05 0b  95 01  81 02  81 00", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, itemBytes(t, "75 01 25 01 "+c.items))
			var got []uint32
			for _, f := range d.Fields {
				got = append(got, fullUsage(f.Page, f.Usage))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestArrayUsages is about the list behind the values of an array.
func TestArrayUsages(t *testing.T) {
	d := parseItems(t, itemBytes(t, `
		05 0b 09 2f 19 40 29 42 09 50  # phone mute, 40 to 42, 50
		15 fe 25 7f 75 08 95 07 81 00  # -2 to 127 as bytes`))
	pressed, ok := d.Fields[0].pressed([]byte{0xfe, 0xff, 0x00, 0x01, 0x02, 0x03, 0xfd})
	require.True(t, ok)
	require.Equal(t, []uint32{0x0b002f, 0x0b0040, 0x0b0041, 0x0b0042, 0x0b0050}, pressed)

	wide := parseItems(t, itemBytes(t, `
		05 09 1a 00 00 2a ff ff                   # all of the page
		17 00 00 00 80 27 ff ff ff 7f 75 20 95 01 # every number
		81 00`))
	pressed, ok = wide.Fields[0].pressed([]byte{0, 0, 0, 0x80})
	require.True(t, ok)
	require.Equal(t, []uint32{0x090000}, pressed)
	pressed, ok = wide.Fields[0].pressed([]byte{0xff, 0xff, 0xff, 0x7f})
	require.True(t, ok)
	require.Empty(t, pressed, "behind the last usage")
	require.Equal(t, 1, theField(t, wide, Input, 9, 0xffff).Count)
	_, ok = parseItems(t, itemBytes(t, "05 09 09 01 75 21 95 01 81 00")).Fields[0].pressed(make([]byte, 8))
	require.False(t, ok, "33 bits are no number")
}

func TestGlobalItemsArePushed(t *testing.T) {
	d := parseItems(t, itemBytes(t, `
		05 0b 15 00 25 01 75 01 95 01 85 01
		a4                                  # push
		05 08 15 ff 25 03 75 04 95 02 85 02
		a4                                  # push
		05 09 85 03
		b4                                  # pop
		09 09 81 02
		b4                                  # pop
		09 2f 81 02`))
	first := Field{Kind: Input, ReportID: 2, Offset: 8, Size: 4, Count: 1, Page: 0x08, Usage: 0x09, Min: -1, Max: 3}
	second := first
	second.Offset = 12
	require.Equal(t, []Field{
		first, second,
		{Kind: Input, ReportID: 1, Offset: 8, Size: 1, Count: 1, Page: 0x0b, Usage: 0x2f, Max: 1},
	}, d.Fields)
}

// TestReports is about the place of fields and the length of reports.
func TestReports(t *testing.T) {
	const item = "05 0b 15 00 25 01 75 01 95 01 "
	mute := func(id uint8, offset int) Field {
		return Field{Kind: Input, ReportID: id, Offset: offset, Size: 1, Count: 1, Page: 0x0b, Usage: 0x2f, Max: 1}
	}
	constant := func(usage uint16, offset int, relative bool) Field {
		return Field{
			Kind: Input, Offset: offset, Size: 1, Count: 1, Page: 0x0b, Usage: usage, Max: 1, Relative: relative, Constant: true,
		}
	}
	type length struct {
		kind Kind
		id   uint8
	}
	cases := map[string]struct {
		items    string
		numbered bool
		fields   []Field
		lengths  map[length]int
	}{
		"nothing": {"", false, nil, map[length]int{{Input, 0}: 0}},
		"without a number": {
			item + "09 2f 81 02", false,
			[]Field{mute(0, 0)},
			map[length]int{{Input, 0}: 1, {Output, 0}: 0, {Input, 1}: 0},
		},
		"one report in two parts": {
			item + "85 01 09 2f 81 02  85 02 09 2f 81 02  85 01 09 2f 81 02", true,
			[]Field{mute(1, 8), mute(2, 8), mute(1, 9)},
			map[length]int{{Input, 1}: 2, {Input, 2}: 2},
		},
		"kinds have places of their own": {
			item + "85 01 75 07 b1 01 91 01 75 01 09 2f 81 02", true,
			[]Field{mute(1, 8)},
			map[length]int{{Input, 1}: 2, {Output, 1}: 2, {Feature, 1}: 2},
		},
		"constants take place": {
			item + "75 05 81 03 75 01 09 2f 81 02", false,
			[]Field{mute(0, 5)},
			map[length]int{{Input, 0}: 1},
		},
		"a constant with a usage": { // many speakerphones declare their controls so
			item + "09 2f 09 21 95 02 81 07", false,
			[]Field{constant(0x2f, 0, true), constant(0x21, 1, true)},
			map[length]int{{Input, 0}: 1},
		},
		"padding behind the last usage of a constant": {
			item + "09 2f 95 08 81 03", false,
			[]Field{constant(0x2f, 0, false)},
			map[length]int{{Input, 0}: 1},
		},
		"padding with the usage of the control before it": {
			item + "09 2f 81 02 09 2f 95 07 81 03", false,
			[]Field{mute(0, 0)},
			map[length]int{{Input, 0}: 1},
		},
		"padding with the usage of the control behind it": {
			item + "09 2f 81 03 09 2f 81 02", false,
			[]Field{mute(0, 1)},
			map[length]int{{Input, 0}: 1},
		},
		"a constant of usage 0, and a constant array": {
			item + "09 00 81 03 09 2f 81 01", false,
			nil,
			map[length]int{{Input, 0}: 1},
		},
		"what has no usage takes place": {
			item + "75 08 81 02 75 01 09 2f 81 02", false,
			[]Field{mute(0, 8)},
			map[length]int{{Input, 0}: 2},
		},
		"no size, no field": {
			item + "75 00 09 20 81 02 75 01 09 2f 81 02", false,
			[]Field{mute(0, 0)},
			map[length]int{{Input, 0}: 1},
		},
		"no count, no field": {
			item + "95 00 09 20 81 02 95 01 09 2f 81 02", false,
			[]Field{mute(0, 0)},
			map[length]int{{Input, 0}: 1},
		},
		"the largest count of nothing": {
			item + "75 00 97 ff ff ff ff 09 20 81 02", false,
			nil,
			map[length]int{{Input, 0}: 0},
		},
		"a number and nothing else": {
			item + "85 01 95 00 09 20 b1 02", true,
			nil,
			map[length]int{{Feature, 1}: 1},
		},
		"before the first number": {
			item + "09 20 81 02 85 01 09 2f 81 02", true,
			[]Field{mute(1, 8)},
			map[length]int{{Input, 0}: 0, {Input, 1}: 2},
		},
		"the longest": {
			item + "85 01 75 08 96 fe 1f 81 01 95 01 81 01", true,
			nil,
			map[length]int{{Input, 1}: 8192},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, itemBytes(t, c.items))
			require.Equal(t, c.numbered, d.Numbered)
			require.Equal(t, c.fields, bare(d.Fields))
			for of, want := range c.lengths {
				require.Equal(t, want, d.Length(of.kind, of.id), of)
			}
		})
	}
}

// TestHarmless is about faults that devices have and that cost nothing.
func TestHarmless(t *testing.T) {
	const mute = " 25 01 75 01 95 01 05 0b 09 2f 81 06 "
	cases := map[string]struct {
		items        string
		applications []uint32
	}{
		"a collection without an end":  {"05 0b 09 05 a1 01" + mute, []uint32{0x0b0005}},
		"an end too many":              {"05 0b 09 05 a1 01" + mute + "c0 c0", []uint32{0x0b0005}},
		"an end at the beginning":      {"c0 05 0b 09 05 a1 01" + mute + "c0", []uint32{0x0b0005}},
		"no collection":                {mute, nil},
		"behind a collection":          {"05 0b 09 05 a1 01 c0" + mute, []uint32{0x0b0005}},
		"in a collection of another":   {"05 0b 09 05 a1 01 09 06 a1 02" + mute + "c0 c0", []uint32{0x0b0005}},
		"behind one in a collection":   {"05 0b 09 05 a1 01 09 06 a1 02 c0" + mute + "c0", []uint32{0x0b0005}},
		"in the second collection":     {"05 0c 09 01 a1 01 c0 05 0b 09 05 a1 01" + mute + "c0", []uint32{0x0c0001, 0x0b0005}},
		"a collection without a usage": {"a1 01" + mute + "c0", []uint32{0}},
		"one with several usages":      {"05 0b 09 05 09 06 a1 01" + mute + "c0", []uint32{0x0b0005}},
		"one with a page of its own":   {"05 0c 0b 05 00 0b 00 a1 01" + mute + "c0", []uint32{0x0b0005}},
		"zeros at the end":             {mute + "00 00 00", nil},
		"a long item":                  {"fe 05 10 81 02 c0 b4 85" + mute, nil},
		"an empty long item":           {"fe 00 10" + mute, nil},
		"items that mean nothing here": {"35 00 45 01 55 00 65 00 39 00 79 00 c4 f4 fc" + mute, nil},
		"a push without a pop":         {"a4" + mute, nil},
		"an end of no alternatives":    {"a9 00" + mute, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := parseItems(t, itemBytes(t, c.items))
			require.Equal(t, c.applications, d.Applications)
			require.Equal(t, []Field{{
				Kind: Input, Size: 1, Count: 1, Page: 0x0b, Usage: 0x2f, Max: 1, Relative: true,
			}}, d.Fields)
		})
	}
}

func TestNoMeaning(t *testing.T) {
	cases := map[string]struct {
		items, want string
	}{
		"cut off":             {"05 0b 26 ff", "byte 2: item 0x26 has 2 bytes of data, but only 1 are left"},
		"four bytes cut off":  {"0b 01 02 03", "byte 0: item 0x0b has 4 bytes of data, but only 3 are left"},
		"long item without":   {"c0 fe 01", "byte 1: the long item is cut off"},
		"long item cut off":   {"c0 fe 03 10 00 00", "byte 1: item 0xfe has 3 bytes of data, but only 2 are left"},
		"number 0":            {"05 0b 85 00", "byte 2: report number 0 is not allowed; want 1 to 255"},
		"no number":           {"84", "byte 0: report number 0 is not allowed; want 1 to 255"},
		"number 256":          {"86 00 01", "byte 0: report number 256 is not allowed; want 1 to 255"},
		"pop too many":        {"a4 b4 b4", "byte 2: pop without a push"},
		"too long":            {"75 08 96 01 20 81 01", "byte 5: input report 0 becomes longer than 8192 bytes: 8193 more values of 8 bits"},
		"too long, numbered":  {"85 02 75 08 96 00 20 91 01", "byte 7: output report 2 becomes longer than 8192 bytes: 8192 more values of 8 bits"},
		"too long, bit":       {"85 02 75 08 96 ff 1f b1 01 75 01 95 01 b1 01", "byte 13: feature report 2 becomes longer than 8192 bytes: 1 more values of 1 bits"},
		"as large as can be":  {"77 ff ff ff ff 97 ff ff ff ff 81 01", "byte 10: input report 0 becomes longer than 8192 bytes: 4294967295 more values of 4294967295 bits"},
		"product of 2 to 32":  {"77 00 00 01 00 97 00 00 01 00 81 01", "byte 10: input report 0 becomes longer than 8192 bytes: 65536 more values of 65536 bits"},
		"too many fields":     {"05 0b 09 2f 75 01 96 01 10 81 02", "byte 9: there are more than 4096 fields"},
		"too many in reports": {"05 0b 75 01 96 00 10 09 2f 81 02 95 01 09 2f 91 02", "byte 15: there are more than 4096 fields"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Parse(itemBytes(t, c.items))
			require.Nil(t, d)
			require.EqualError(t, err, "report descriptor: "+c.want)
		})
	}
}

func TestMostFields(t *testing.T) {
	d := parseItems(t, itemBytes(t, "05 0b 09 2f 75 01 96 00 10 81 02"))
	require.Len(t, d.Fields, 4096)
	require.Equal(t, 4095, d.Fields[4095].Offset)
}

func TestLongestDescriptor(t *testing.T) {
	b := bytes.Repeat([]byte{0xc0}, 65535)
	parseItems(t, b)
	_, err := Parse(append(b, 0xc0))
	require.EqualError(t, err, "report descriptor: byte 65535: it has 65536 bytes; at most 65535 are possible")
}

// TestControl goes through all forms; only three mean something (HID Usage Tables 1.12, section 3.4.1.2).
func TestControl(t *testing.T) {
	type form struct {
		min, max int32
		flags    string // of the input item
	}
	want := map[form]Control{
		{0, 1, "22"}:  Level,
		{0, 1, "06"}:  Momentary,
		{-1, 1, "26"}: Buttons,
	}
	ranges := map[form]string{{min: 0, max: 1}: "15 00 25 01", {min: -1, max: 1}: "15 ff 25 01", {min: 0, max: 3}: "15 00 25 03", {min: 1, max: 1}: "15 01 25 01"}
	for r, items := range ranges {
		for _, flags := range []string{"00", "02", "04", "06", "20", "22", "24", "26"} {
			d := parseItems(t, itemBytes(t, "05 0b 09 2f 75 02 95 01 "+items+" 81 "+flags))
			f := theField(t, d, Input, 0x0b, 0x2f)
			require.Equal(t, want[form{r.min, r.max, flags}], f.Control(), "%s, input %s", items, flags)
		}
	}
	d := parseItems(t, itemBytes(t, "05 0b 09 2f 75 01 95 01 15 ff 25 01 81 26"))
	require.Empty(t, d.Fields[0].Control(), "one bit has no room for -1 and 1")
}
