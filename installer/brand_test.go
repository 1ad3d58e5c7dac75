//go:build linux

package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	reflector "github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/strictyaml/schematest"
	"sidetone/internal/strictyaml/strictyamltest"
	"sidetone/internal/texts"
)

var update = flag.Bool("update", false, "write brand.schema.json")

// schemaRules say what the Go types do not.
var schemaRules = reflector.Reflector{Anonymous: true, Mapper: func(t reflect.Type) *reflector.Schema {
	switch t {
	case reflect.TypeFor[config.Config](), reflect.TypeFor[texts.Messages](): // the agent checks them itself
		return &reflector.Schema{Type: "object"}
	}
	return nil
}}

func TestSchemaIsCurrent(t *testing.T) {
	schematest.Current(t, *update, "brand.schema.json", brandSchema, schemaRules, &Brand{},
		"Sidetone brand", "What a hardware vendor says of its agent.")
}

// TestExampleIsInOrder by the schema and by LoadBrand.
func TestExampleIsInOrder(t *testing.T) {
	require.NoError(t, schematest.Validate(t, schematest.Compile(t, brandSchema), "brand.yaml"))
	_, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
}

// changed is the example with changes, in a folder of its own, with what it names.
func changed(t *testing.T, changes ...string) string {
	t.Helper()
	text, err := os.ReadFile("brand.yaml")
	require.NoError(t, err)
	require.Zero(t, len(changes)%2)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(t, string(text), changes[i])
	}
	folder := t.TempDir()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	changes = append(changes, "../examples", filepath.Dir(here)+"/examples", "icon: icon.svg", "icon: "+here+"/icon.svg")
	out := strings.NewReplacer(changes...).Replace(string(text))
	// Paths are relative to the file, so that absolute ones are led there.
	out = strings.ReplaceAll(out, filepath.Dir(here), relative(t, folder, filepath.Dir(here)))
	path := filepath.Join(folder, "brand.yaml")
	require.NoError(t, os.WriteFile(path, []byte(out), 0o600))
	return path
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	path, err := filepath.Rel(from, to)
	require.NoError(t, err)
	return path
}

// TestMistakes are told with line and column.
func TestMistakes(t *testing.T) {
	const defaults = "# defaults:\n#   log: {level: warn}"
	for _, c := range []struct{ was, is, want string }{
		{"schema: 1", "schema: 2", `:9:9: unknown schema version 2: "2" (want 1)`},
		{"  id: acme ", "  id: Acme ", `:12:7: "Acme" is not lower-case letters`},
		{"  id: acme ", "  id: beta ", ":12:7: the catalogue has vendor.id acme"},
		{`"123456789012345678"`, `"223456789012345678"`, ":13:14: the catalogue has vendor.client_id 123456789012345678"},
		{`"123456789012345678"`, `"12"`, ":13:14: not 17 to 20 digits"},
		{"Acme Audio <packages@acme.example>", "packages@acme.example", ":15:12: not a name with an address"},
		{"url: https://acme.example", "url: acme.example", ":16:8: not an address"},
		{"program: acme-agent", "program: Acme Agent", ":22:12: not words of lower-case letters"},
		{"program: acme-agent", "program: pulse", ":22:12: not words of lower-case letters"},
		{"url: https://acme.example", "url: https://acme.example/$HOME", ":16:8: has a $"},
		{"Acme Audio <packages@acme.example>", "\"Acme <p@acme.example> (x\\nPre-Depends: y)\"", ":15:12: not one line of text"},
		{"name: Acme Headset Agent ", "name: Acme [ProductCode] ", ":21:9: has a bracket that is not round"},
		{"name: Acme Headset Agent ", "name: " + strings.Repeat("Ä", 65) + " ", ":21:9: longer than 64 characters"},
		{"which Acme devices", "which {Acme} devices", ":23:12: has a bracket that is not round"},
		{"program: acme-agent", "program: sidetone", ":22:12: the name is taken"},
		{"devices are there\n", "devices are there.\n", ":23:12: ends with a full stop"},
		{"6B2F6C0E", "6b2f6c0e", ":26:17: not a GUID in upper case"},
		{"program: acme-agent", "program: beta-agent", ":26:17: that of the example, whose package would be removed for yours"},
		{"program: acme-agent", "program: beta-agent", ":13:14: that of the example: of two vendors with one id the client keeps one list"},
		{"icon: icon.svg", "icon: none.svg", ":25:9: cannot be read: no such file or directory"},
		{"[../examples/acme.yaml]", "[none.yaml]", "none.yaml: no such file"},
		{"[../examples/acme.yaml]", "[]", ":29:12: names no catalogue"},
		{"[../examples/acme.yaml]", "[.]", ":29:13: brand.yaml is this file, and no catalogue"},
		{"[../examples/acme.yaml]", "[../examples/acme.yaml, brand.yaml]", ":29:36: brand.yaml is this file, and no catalogue"},
		{"# languages: [en, de, fr, ja]", "languages: [en, dee]", `:32:17: no such language: "dee" (did you mean`},
		{"product:", "prodct:", ":20:1: unknown key"},
		{defaults, "defaults: {log: {level: loud}}", ":39:25:"},
		{defaults, "defaults: {rpc: {tokens: 0}}", `:39:26: out of range: "0" (want 1 to 1000000)`},
		{defaults, "defaults: {control: {socket: a.sock}}", `:39:30: not the same place on every system: "a.sock" (~/ and the rest`},
		{defaults, "policy: {sources: {files: [~/a.yaml, /opt/acme/b.yaml]}}", ":39:38: not the same place on every system"},
		{"program: acme-agent", "program: acme-tray", ": another program's tray, service or set-up would be called so"},
		{defaults, "policy: {catalogue: x}", ":39:21: the package says it itself"},
		{defaults, "policy: {control: {socket: }}", `:39:20: the value is missing, and so the key decides nothing: "socket"`},
		{defaults, "policy: {push: {state_file: }}", `:39:10: unknown key: "push" (push.state_file is gone: push over the local API`},
	} {
		path := changed(t, c.was, c.is)
		_, err := LoadBrand(path)
		require.ErrorContains(t, err, c.want, c.is)
	}
}

// TestNamesOfCatalogues are such as every system can have beside each other.
func TestNamesOfCatalogues(t *testing.T) {
	text, err := os.ReadFile("../examples/acme.yaml")
	require.NoError(t, err)
	for want, names := range map[string][]string{
		"a;b.yaml\" is no name that every system takes":            {"a;b.yaml"},
		"ä.yaml\" is no name that every system takes":              {"ä.yaml"},
		"is no name that every system takes":                       {strings.Repeat("a", 60) + ".yaml"},
		"two/Acme.yaml have one name, and are to be in one folder": {"one/acme.yaml", "two/Acme.yaml"},
	} {
		var paths []string
		folder := t.TempDir()
		for _, name := range names {
			path := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, text, 0o600))
			paths = append(paths, path)
		}
		brand := changed(t)
		whole, err := os.ReadFile(brand)
		require.NoError(t, err)
		before, rest, _ := strings.Cut(string(whole), "\ncatalogue: [")
		_, after, _ := strings.Cut(rest, "]")
		for i := range paths {
			paths[i] = "'" + relative(t, filepath.Dir(brand), paths[i]) + "'"
		}
		require.NoError(t, os.WriteFile(brand, []byte(before+"\ncatalogue: ["+strings.Join(paths, ", ")+"]"+after), 0o600))
		_, err = LoadBrand(brand)
		require.ErrorContains(t, err, want, names)
	}
}

// TestInstalledFilesAreWhatTheAgentReads: a brand's files are read by the same code as in the agent.
func TestInstalledFilesAreWhatTheAgentReads(t *testing.T) {
	b, err := LoadBrand(changed(t, "# languages: [en, de, fr, ja]", "languages: [de]",
		"# texts:\n#   en: {tray.quit: Quit Acme}", "texts: {en: {tray.quit: Quit Acme}}",
		"# defaults:\n#   log: {level: warn}", "defaults: {log: {level: warn}, rpc: {ports: 6463-6465, retry_max: 3s}}",
		"# policy:\n#   sources: {camera: false}", "policy: {sources: {camera: false}}"))
	require.NoError(t, err)
	tree, err := b.base(programs{[]byte("agent"), []byte("tray")}, "", "-tray")
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, tree.write(folder))

	program := filepath.Join(folder, "acme-agent")
	require.Equal(t, "acme-agent", brand.NameOf(program))
	own, err := brand.Load(brand.Path(program))
	require.NoError(t, err)
	require.Equal(t, brand.Identity{ID: "acme", ClientID: "123456789012345678"}, own.Vendor)
	require.Equal(t, []string{"de", "en"}, own.Set().Languages())
	require.Equal(t, "Quit Acme", own.Set().For("en").Text("tray.quit", nil))

	defaults, policy := brand.SettingsFiles(program)
	c, settings, problems := config.Load(config.Options{VendorFile: defaults, Policy: []string{policy}})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, filepath.Join(folder, "catalogue"), c.Catalogue)
	layers := make(map[config.Layer]int)
	for _, s := range settings {
		layers[s.Layer]++
	}
	require.Equal(t, 4, layers[config.LayerVendor])
	require.Equal(t, 1, layers[config.LayerPolicy])
	cat, problems, err := catalogue.Load(c.Catalogue)
	require.NoError(t, err)
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, "acme", cat.Vendor.ID)
}

// release is one that tests package.
var release = Release{Version: "1.2.3", Build: "v1.2.3", Commit: "abc", Time: time.Unix(1795402247, 0).UTC()}
