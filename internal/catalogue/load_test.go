package catalogue

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml/strictyamltest"
)

const acme = "../../examples/acme.yaml"

func TestExampleCatalogue(t *testing.T) {
	cat, problems, err := Load(acme)
	require.NoError(t, err)
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, "acme", cat.Vendor.ID)
	require.Len(t, cat.Products, 4)
	require.Equal(t, []string{"0701"}, cat.Products[0].Links[1].PIDs)
	require.NotNil(t, cat.Products[0].Sources[0].HIDUsage)
	require.False(t, *cat.Products[0].Sources[1].OSEndpointMute.RequireHardwareSupport)
	require.True(t, cat.Products[1].Sources[1].ALSACtl.Invert)
	require.Len(t, cat.Products[3].Sources[0].Derive.Or, 2)
	require.Equal(t, Byte(0x64), *cat.Products[3].LinkState[0].HIDReport.ReportID)
}

func TestLoadCatalogueErrors(t *testing.T) {
	dir := t.TempDir()
	_, problems, err := Load(filepath.Join(dir, "missing.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Nil(t, problems)
	_, _, err = Load(dir)
	require.EqualError(t, err, "cannot read "+dir+": no catalogue is in this folder, no file that ends in .yaml or .json")

	broken := filepath.Join(dir, "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("schema: 1\n"), 0o600))
	cat, problems, err := Load(broken)
	require.NoError(t, err)
	require.Nil(t, cat)
	require.Equal(t, []string{broken + `:1:1: missing key: "products"`, broken + `:1:1: missing key: "vendor"`}, strictyamltest.Texts(problems))
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
	walk(reflect.TypeFor[Catalogue]())
	require.Greater(t, len(seen), 8)
}

// FuzzCatalogue: no file panics; every problem is in the file; a catalogue without problems
// checks the same again, makes a resolver everywhere and survives being written as JSON.
func FuzzCatalogue(f *testing.F) {
	seeds, err := filepath.Glob("testdata/broken/*.yaml")
	require.NoError(f, err)
	for _, path := range append(seeds, acme) {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cat, problems := Decode("f", data)
		strictyamltest.RequireInside(t, data, problems)
		if len(problems) > 0 {
			require.Nil(t, cat)
			return
		}
		out, err := json.Marshal(cat)
		require.NoError(t, err)
		require.Empty(t, cat.Check())
		again, problems := Decode("f", out)
		require.Empty(t, strictyamltest.Texts(problems), "%s", out)
		back, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(out), string(back))
		for _, os := range []devices.OS{devices.Linux, devices.Windows, devices.Darwin} {
			_, err := NewResolver(cat, devices.Options{OS: os})
			require.NoError(t, err)
		}
	})
}
