package descriptor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDescriptor reads what a broken or hostile device may declare and send.
func FuzzDescriptor(f *testing.F) {
	stored, err := filepath.Glob(filepath.Join("testdata", "descriptors", "*.txt"))
	require.NoError(f, err)
	require.NotEmpty(f, stored)
	for _, path := range stored {
		f.Add(storedItems(f, strings.TrimSuffix(filepath.Base(path), ".txt")), []byte{2, 0xff, 0xe2, 0})
	}
	f.Fuzz(func(t *testing.T, b, report []byte) {
		d, err := Parse(b)
		if err != nil {
			require.Regexp(t, `^report descriptor: byte \d+: `, err)
			return
		}
		require.LessOrEqual(t, len(d.Fields), maxFields)
		for i, field := range d.Fields {
			length := d.Length(field.Kind, field.ReportID)
			require.LessOrEqual(t, length, MaxReport)
			require.Equal(t, d.Numbered, field.ReportID != 0)
			require.True(t, !d.Numbered || field.Offset >= 8, "a field lies in the number")
			require.Positive(t, field.Size)
			require.Positive(t, field.Count)
			require.LessOrEqual(t, field.Offset+field.Size*field.Count, 8*length)

			requireRead(t, field, report)
			if i < 100 { // a whole report takes its time
				full := make([]byte, length)
				copy(full, report)
				if d.Numbered {
					full[0] = field.ReportID
				}
				requireRead(t, field, full)
				requireFound(t, d, field, full)
			}
		}
	})
}

func requireRead(t *testing.T, f Field, report []byte) {
	t.Helper()
	f.Control()
	if v, ok := f.Value(report); ok && !f.Array {
		require.True(t, f.Min <= v && v <= f.Max, "%d is outside %d..%d", v, f.Min, f.Max)
	}
	pressed, ok := f.pressed(report)
	require.LessOrEqual(t, len(pressed), f.Count)
	require.False(t, ok && !f.Array)
}

// requireFound checks that a field, or what an array names in a whole report, is found by its usage.
func requireFound(t *testing.T, d *Descriptor, f Field, report []byte) {
	t.Helper()
	if !f.Array {
		require.NotEmpty(t, d.Find(f.Kind, f.Page, f.Usage))
		return
	}
	pressed, ok := f.pressed(report)
	require.Equal(t, f.Size <= 32, ok)
	for _, usage := range pressed[:min(len(pressed), 10)] {
		var values []int32
		for _, found := range d.Find(f.Kind, uint16(usage>>16), uint16(usage)) {
			if found.Array && found.Offset == f.Offset && found.ReportID == f.ReportID {
				v, ok := found.Value(report)
				require.True(t, ok)
				values = append(values, v)
			}
		}
		require.Equal(t, []int32{1}, values)
	}
}
