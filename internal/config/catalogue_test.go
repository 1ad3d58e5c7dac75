package config

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

const acme = "../../examples/acme.yaml"

func TestExampleCatalogue(t *testing.T) {
	cat, problems, err := LoadCatalogue(acme)
	require.NoError(t, err)
	require.Empty(t, texts(problems))
	require.Equal(t, "acme", cat.Vendor.ID)
	require.Len(t, cat.Products, 4)
	require.Equal(t, []string{"0701"}, cat.Products[0].Links[1].PIDs)
	require.NotNil(t, cat.Products[0].Sources[0].HIDUsage)
	require.False(t, *cat.Products[0].Sources[1].OSEndpointMute.RequireHardwareSupport)
	require.True(t, cat.Products[1].Sources[1].ALSACtl.Invert)
	require.Len(t, cat.Products[3].Sources[0].Derive.Or, 2)
	require.Equal(t, devices.Byte(0x64), *cat.Products[3].LinkState[0].HIDReport.ReportID)
}

func TestLoadCatalogueErrors(t *testing.T) {
	dir := t.TempDir()
	_, problems, err := LoadCatalogue(filepath.Join(dir, "missing.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Nil(t, problems)
	_, _, err = LoadCatalogue(dir)
	require.EqualError(t, err, "cannot read "+dir+": it is a folder, want a file")

	broken := writeFile(t, filepath.Join(dir, "broken.yaml"), "schema: 1\n")
	cat, problems, err := LoadCatalogue(broken)
	require.NoError(t, err)
	require.Nil(t, cat)
	require.Equal(t, []string{broken + `:1:1: missing key: "products"`, broken + `:1:1: missing key: "vendor"`}, texts(problems))
}

// TestTagsAgree: the schema is made from the json tags, the decoder reads the yaml tags.
func TestTagsAgree(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			require.Equal(t, f.Tag.Get("json"), f.Tag.Get("yaml"), "%s.%s", typ, f.Name)
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[devices.Catalogue]())
	require.Greater(t, len(seen), 8)
}

// FuzzCatalogue: no file panics; every problem is in the file; a catalogue without problems
// checks the same again, makes a resolver everywhere and survives being written as JSON.
func FuzzCatalogue(f *testing.F) {
	seeds, err := filepath.Glob("testdata/catalogue/*.yaml")
	require.NoError(f, err)
	for _, path := range append(seeds, acme) {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cat, problems := DecodeCatalogue("f", data)
		requireInside(t, data, problems)
		if len(problems) > 0 {
			require.Nil(t, cat)
			return
		}
		out, err := json.Marshal(cat)
		require.NoError(t, err)
		require.Empty(t, cat.Check())
		again, problems := DecodeCatalogue("f", out)
		require.Empty(t, texts(problems), "%s", out)
		back, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(out), string(back))
		for _, os := range []devices.OS{devices.Linux, devices.Windows, devices.Darwin} {
			_, err := devices.NewResolver(cat, devices.Options{OS: os})
			require.NoError(t, err)
		}
	})
}

// FuzzConfig: no file panics; every problem is in the file; settings without problems can be
// given back as flags.
func FuzzConfig(f *testing.F) {
	seeds, err := filepath.Glob("testdata/config/*.yaml")
	require.NoError(f, err)
	for _, path := range append(seeds, "../../examples/config.yaml") {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLoader()
		l.decode("/f", data)
		if len(l.problems) == 0 {
			l.check()
		}
		requireInside(t, data, l.problems)
		if len(l.problems) > 0 {
			return
		}
		flags := make(map[string]string)
		for _, s := range l.settings() {
			flags[s.Path] = s.Value
		}
		// A flag cannot give a path with a comma, nor an empty value of a name.
		if strings.Contains(strings.Join(l.config.Sources.Files, ""), ",") {
			return
		}
		for _, path := range []string{"report.audio_id", "report.video_id"} {
			if flags[path] == "" {
				delete(flags, path)
			}
		}
		again, _, problems := Load(Options{Flags: flags})
		require.Empty(t, texts(problems))
		require.Equal(t, l.config, again)
	})
}

func requireInside(t *testing.T, data []byte, problems []strictyaml.Problem) {
	t.Helper()
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\uFEFF"))
	lines := strings.Split(text, "\n")
	for _, p := range problems {
		require.LessOrEqual(t, 1, p.Line, p)
		require.LessOrEqual(t, p.Line, len(lines), p)
		require.LessOrEqual(t, 1, p.Column, p)
		require.LessOrEqual(t, p.Column, len([]rune(lines[p.Line-1]))+1, p)
		require.NotContains(t, p.String(), "\n")
	}
}
