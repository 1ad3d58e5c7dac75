package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/engine"
	"sidetone/internal/strictyaml"
)

const fieldFolder = "../../examples/field"

var updateField = flag.Bool("update", false, "TestField: rewrite the lists of the traces in examples/field")

// fieldFiles returns the catalogues of a folder of examples/field.
func fieldFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// TestField replays the traces of examples/field. The rules that write to a device are permitted to in a copy only.
func TestField(t *testing.T) {
	t.Parallel()
	readers, asks := fieldFiles(t, fieldFolder), filepath.Join(fieldFolder, "asks")
	families := map[string]bool{}
	for _, file := range slices.Concat(readers, fieldFiles(t, asks)) {
		families[filepath.Base(file)] = true
	}
	require.GreaterOrEqual(t, len(families), 20)

	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(asks)))
	writers := fieldFiles(t, copied)
	for _, file := range writers {
		edit(t, file, "\n    endpoints:", "\n    allow_write: true\n    endpoints:")
	}
	files := slices.Concat(readers, writers)
	o := sidetone(t, nil, slices.Concat([]string{"catalogue", "check"}, files)...)
	require.Equal(t, exitOK, o.code, "%s%s", o.stdout, o.stderr)
	require.NotContains(t, o.stdout, "warning")
	args := []string{"catalogue", "test"}
	if *updateField {
		args = append(args, "--update")
	}
	o = sidetone(t, nil, slices.Concat(args, files)...)
	require.Equal(t, exitOK, o.code, "go test ./cmd/agent -run TestField -update, then read the difference: %s%s", o.stdout, o.stderr)
	for _, file := range writers {
		if *updateField {
			require.NoError(t, os.WriteFile(traceOf(filepath.Join(asks, filepath.Base(file))), []byte(read(t, traceOf(file))), 0o600))
		}
	}
}

// traceOf returns the trace of a catalogue of examples/field.
func traceOf(file string) string {
	return filepath.Join(filepath.Dir(file), "traces", strings.TrimSuffix(filepath.Base(file), "yaml")+"jsonl")
}

// TestFieldMayNotWrite: no catalogue of examples/field lets the agent write to a device. Those that need it stand in a folder of their own,
// and say what they would send.
func TestFieldMayNotWrite(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/field.md")
	for folder, writes := range map[string]bool{fieldFolder: false, filepath.Join(fieldFolder, "asks"): true} {
		for _, file := range fieldFiles(t, folder) {
			text := read(t, file)
			require.Contains(t, page, "](../examples/field/"+strings.TrimPrefix(filepath.ToSlash(file), fieldFolder+"/")+")", "docs/field.md")
			for _, head := range []string{`Source: \S`, `Known: (dump|layout|assumption)\b`, `Never tried on hardware: all of it`} {
				require.Regexp(t, `(?m)^# `+head, text, file)
			}
			var cat catalogue.Catalogue
			_, problems := strictyaml.Decode(file, []byte(text), &cat)
			require.Empty(t, problems)
			for _, product := range cat.Products {
				require.False(t, product.AllowWrite, file)
				require.Equal(t, []string{"traces/" + strings.TrimSuffix(filepath.Base(file), "yaml") + "jsonl"}, product.Traces, file)
			}
			require.Equal(t, writes, regexp.MustCompile(`(?m)^# Requests: `).MatchString(text), file)
			require.Equal(t, writes, regexp.MustCompile(`No device\s+(#\s+)?was\s+(#\s+)?ever\s+(#\s+)?asked`).MatchString(text), file)
			refused := slices.ContainsFunc(cat.Check(), func(f catalogue.Fault) bool { return strings.Contains(f.Message, "writes to the device") })
			require.Equal(t, writes, refused, "%s: %v", file, cat.Check())
		}
	}
}

// TestFieldTraces show what each rule is for: a mute, its end, a foreign message that changes nothing, and that the device goes.
func TestFieldTraces(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{fieldFolder, filepath.Join(fieldFolder, "asks")} {
		for _, file := range fieldFiles(t, folder) {
			t.Run(filepath.Base(folder)+"/"+filepath.Base(file), func(t *testing.T) {
				showsAll(t, traceOf(file))
			})
		}
	}
}

// showsAll checks one trace. What is foreign stands below a comment that says so.
func showsAll(t *testing.T, trace string) {
	t.Helper()
	text := read(t, trace)
	require.NotContains(t, text, `"serial"`, "of a real device")
	var seen []string
	foreign, reports, devices := false, 0, -1
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if strings.HasPrefix(line, "#") {
			foreign = strings.HasPrefix(line, "# Foreign: ")
			continue
		}
		var r engine.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if foreign && r.HID != nil {
			reports++
		}
		if r.List == nil {
			continue
		}
		require.False(t, foreign, "a foreign message changes something: %s", line)
		devices = len(r.List.Devices)
		seen = append(seen, regexp.MustCompile(`"hardware_mute":\w+`).FindAllString(line, -1)...)
	}
	require.Contains(t, seen, `"hardware_mute":true`)
	require.Contains(t, seen, `"hardware_mute":false`)
	require.Positive(t, reports, "no foreign message")
	require.Zero(t, devices, "it is unplugged in the end")
}
