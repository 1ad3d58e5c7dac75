package descriptor

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// storedPreparsed is what Wine made of a report descriptor, as hex.Dump writes it.
func storedPreparsed(t testing.TB, name string) (out []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "preparsed", name))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		digits, _, _ := strings.Cut(line[8:], "|")
		b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		require.NoError(t, err)
		out = append(out, b...)
	}
	return out
}

// usagesOf is what the elements of an array may name.
func usagesOf(f Field) (out []uint32) {
	for i := range f.usages.len() {
		usage, _ := f.usages.at(i)
		out = append(out, usage)
	}
	return out
}

// What Windows keeps of a report descriptor says the same as that.
func TestPreparsedDataDeclareTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "preparsed", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		want := parseItems(t, storedItems(t, name))
		p, err := ParsePreparsed(storedPreparsed(t, name+".txt"))
		require.NoError(t, err, name)
		have := parseItems(t, p.Descriptor)
		require.Equal(t, want.Applications, have.Applications, name)
		require.Equal(t, want.Applications[0], p.Application, name)
		require.Equal(t, want.Numbered, have.Numbered, name)
		require.Equal(t, want.bits, have.bits, name)
		require.Equal(t, byPlace(want), byPlace(have), name)
		for kind, length := range p.Lengths {
			longest := 0
			for id := range 256 {
				longest = max(longest, want.Length(kind, uint8(id)))
			}
			if longest > 0 && !want.Numbered {
				longest++
			}
			require.Equal(t, longest, length, "%s: %s", name, kind)
		}
	}
}

// place is what tells one field from another, but for what it may name.
type place struct {
	kind                  Kind
	id                    uint8
	offset, size, count   int
	page, usage           uint16
	low, high             int32
	relative, noPreferred bool
}

// byPlace are the fields of a descriptor, each with the usages that it may name.
func byPlace(d *Descriptor) map[place][]uint32 {
	out := make(map[place][]uint32)
	for _, f := range d.Fields {
		at := place{f.Kind, f.ReportID, f.Offset, f.Size, f.Count, f.Page, f.Usage, f.Min, f.Max, f.Relative, f.NoPreferred}
		out[at] = usagesOf(f)
	}
	return out
}

// preparsed are such data of one kind of report.
func preparsed(bytes int, caps ...preparsedCap) []byte {
	h := preparsedHeader{Usage: 1, Page: 0xff00}
	copy(h.Magic[:], preparsedMagic)
	h.Reports[0].End, h.Reports[0].Bytes = uint16(len(caps)), uint16(bytes)
	h.Reports[1].First, h.Reports[1].End = uint16(len(caps)), uint16(len(caps))
	h.Reports[2] = h.Reports[1]
	out, err := binary.Append(nil, binary.LittleEndian, h)
	if err == nil {
		out, err = binary.Append(out, binary.LittleEndian, caps)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func valueCap(id, size, count, byteAt uint16) preparsedCap {
	return preparsedCap{
		Page: 0xff00, ReportID: uint8(id), Size: size, Count: count, Byte: byteAt, Bits: size * count, Flags: flagVariable, First: 2, Last: 2,
		Logical: [3]int32{0, 0, 255},
	}
}

func TestPreparsedDataOfOddDevices(t *testing.T) {
	parse := func(data []byte) *Descriptor {
		p, err := ParsePreparsed(data)
		require.NoError(t, err)
		return parseItems(t, p.Descriptor)
	}
	require.Equal(t, 90, parse(preparsed(91)).Length(Input, 0), "without a usage there is a report all the same")
	require.Equal(t, 64, parse(preparsed(64, valueCap(5, 8, 2, 1))).Length(Input, 5), "of one report the padding at its end is known")
	two := parse(preparsed(64, valueCap(6, 8, 63, 1), valueCap(5, 4, 3, 1)))
	require.Equal(t, []int{64, 3}, []int{two.Length(Input, 6), two.Length(Input, 5)})

	negative := valueCap(5, 8, 1, 1)
	negative.Logical[2] = -1
	require.EqualValues(t, 255, parse(preparsed(2, negative)).Fields[0].Max, "a maximum that was written without its sign")
	negative.Logical[1] = -1
	require.EqualValues(t, -1, parse(preparsed(2, negative)).Fields[0].Max)

	alias := valueCap(5, 8, 1, 1)
	alias.Kind, alias.First, alias.Last = capAlias, 3, 3
	require.Equal(t, []Field{{Kind: Input, ReportID: 5, Offset: 8, Size: 8, Count: 1, Page: 0xff00, Usage: 2, Max: 255}},
		bare(parse(preparsed(2, alias, valueCap(5, 8, 1, 1))).Fields))
}

func TestPreparsedDataThatMakeNoSense(t *testing.T) {
	good := preparsed(3, valueCap(5, 8, 2, 1))
	for want, data := range map[string][]byte{
		"not in the known format of Windows":      bytes.Replace(good, []byte("KDR"), []byte("KDS"), 1),
		"caps 0 to 1 are not in 103 bytes":        good[:len(good)-1],
		"cap 0 has 2 values of 8 bits in 15 bits": preparsed(3, func() preparsedCap { c := valueCap(5, 8, 2, 1); c.Bits--; return c }()),
		"two fields of report 5 have bit 16":      preparsed(9, valueCap(5, 8, 2, 1), valueCap(5, 8, 2, 2)),
		"report 5 has 24 bits":                    preparsed(2, valueCap(5, 8, 2, 1)),
	} {
		p, err := ParsePreparsed(data)
		require.Nil(t, p.Descriptor)
		if !strings.HasPrefix(want, "not in") {
			require.Equal(t, map[Kind]int{Input: int(binary.LittleEndian.Uint16(data[22:])), Output: 0, Feature: 0}, p.Lengths, "they can be read")
		}
		require.ErrorContains(t, err, want)
	}
	_, err := ParsePreparsed(nil)
	require.Error(t, err)
}

func FuzzPreparsed(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "preparsed", "*.txt"))
	require.NoError(f, err)
	for _, path := range files {
		f.Add(storedPreparsed(f, filepath.Base(path)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePreparsed(data)
		if err != nil {
			return
		}
		d, err := Parse(p.Descriptor)
		if err != nil { // longer than any report
			return
		}
		for _, field := range d.Fields {
			require.LessOrEqual(t, field.Offset+field.Size*field.Count, 8*d.Length(field.Kind, field.ReportID))
		}
	})
}
