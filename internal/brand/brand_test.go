package brand

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/texts"
)

const (
	one = "123456789012345678"
	two = "223456789012345678"
)

func TestResolve(t *testing.T) {
	acme := &File{Path: "/opt/acme/agent.brand.yaml", Vendor: Identity{"acme", one}}
	for name, c := range map[string]struct {
		asked     string
		file      *File
		catalogue *Identity
		want      Identity
		fault     string
	}{
		"nothing":                         {},
		"the catalogue":                   {"", nil, &Identity{ID: "beta", ClientID: two}, Identity{"beta", two}, ""},
		"the brand file":                  {"", acme, nil, Identity{"acme", one}, ""},
		"a vendor without a catalogue":    {"beta", nil, nil, Identity{ID: "beta"}, ""},
		"a vendor and its catalogue":      {"beta", nil, &Identity{ID: "beta", ClientID: two}, Identity{"beta", two}, ""},
		"the brand and its catalogue":     {"acme", acme, &Identity{ID: "acme", ClientID: one}, Identity{"acme", one}, ""},
		"a vendor against the brand":      {"beta", acme, nil, Identity{}, "this program is of vendor acme (agent.brand.yaml) and speaks for no other"},
		"a vendor against the catalogue":  {"beta", nil, &Identity{ID: "acme"}, Identity{}, "give it a catalogue with vendor.id beta"},
		"the brand against the catalogue": {"", acme, &Identity{ID: "beta"}, Identity{}, "the catalogue is of vendor beta, and this agent of vendor acme"},
		"two client ids":                  {"", acme, &Identity{ID: "acme", ClientID: two}, Identity{}, "agent.brand.yaml has " + one},
	} {
		got, err := Resolve(c.asked, c.file, c.catalogue)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestCheckUnchanged(t *testing.T) {
	acme := Identity{"acme", one}
	require.NoError(t, acme.CheckUnchanged(acme))
	require.ErrorContains(t, acme.CheckUnchanged(Identity{"beta", one}), "restart it")
	require.ErrorContains(t, acme.CheckUnchanged(Identity{"acme", two}), two)
}

func TestLoad(t *testing.T) {
	require.Equal(t, "/opt/acme/agent.brand.yaml", Path("/opt/acme/agent"))
	require.Equal(t, `C:\Acme\agent.brand.yaml`, Path(`C:\Acme\agent.exe`))

	path := filepath.Join(t.TempDir(), "agent.brand.yaml")
	f, err := Load(path)
	require.NoError(t, err)
	require.Nil(t, f)
	require.Same(t, texts.Shipped, f.Set())
	for text, fault := range map[string]string{
		"vendor: {id: acme, client_id: \"" + one + "\"}":              "",
		"vendor: {id: Acme, client_id: \"" + one + "\"}":              `vendor.id: "Acme" is not lower-case letters`,
		"vendor: {id: clients, client_id: \"" + one + "\"}":           "clients cannot be a vendor's id",
		"vendor: {id: acme, client_id: \"12\"}":                       "vendor.client_id is not 17 to 20 digits",
		"vendor: {id: acme, client_id: \"" + one + "\", colour: red}": "unknown key",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := Load(path)
		if fault != "" {
			require.ErrorContains(t, err, fault, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, path, f.Path)
		require.Equal(t, Identity{"acme", one}, f.Vendor)
		require.Equal(t, "de", f.Set().Match("de-AT"))

		require.NoError(t, os.WriteFile(path, []byte(text+"\nlanguages: [ja]"), 0o600))
		some, err := Load(path)
		require.NoError(t, err)
		require.Equal(t, []string{"en", "ja"}, some.Set().Languages())
		require.Contains(t, f.Set().Languages(), "de", "of another file")
		for lang, preferred := range map[string][]string{"ja": {"fr", "C"}, "en": {"fr", "en-GB"}} {
			say, err := some.Printer(DesktopLanguage, preferred)
			require.NoError(t, err)
			require.Equal(t, lang, say.Lang(), "the first is for who speaks none")
		}
	}
}

// TestTexts is the example of docs/translations.md.
func TestTexts(t *testing.T) {
	page, err := os.ReadFile("../../docs/translations.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	example, _, _ := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "acme-agent.brand.yaml")
	load := func(text string) (*File, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return Load(path)
	}
	f, err := load(example)
	require.NoError(t, err)
	say := f.Set().For
	require.Equal(t, "Mit Acme beenden", say("de").Text("tray.quit", nil))
	require.Equal(t, texts.For("de").Text("tray.resume", nil), say("de").Text("tray.resume", nil), "what the vendor does not say")
	require.Equal(t, "nl", f.Set().Match("nl-BE", "de"))
	require.Equal(t, "2 apparaten extra", say("nl").Text("tray.product.more", texts.Args{"n": "2"}))
	require.Equal(t, texts.For("en").Text("tray.resume", nil), say("nl").Text("tray.resume", nil), "English stands in")

	for line, fault := range map[string]string{
		"tray.quitt: Stop":        `:7:17: tray.quitt: unknown key (did you mean "tray.quit"?)`,
		`tray.quit: "{who} stop"`: ":7:16: tray.quit: there is no argument {who}: this message has none",
		"tray.quit: {one: x}":     `the form "other" is missing`,
		"tray.quit: [a]":          "want a text, or forms",
		`join.words: {rest: "{first}", other: "{first}, {rest}"}`: ":7:17: join.words: the place {rest} is missing",
		`join.words: "{first}"`:                                   ":7:17: join.words: the place {rest} is missing",
		`duration.both: "{first} and more"`:                       ":7:20: duration.both: the place {second} is missing",
	} {
		_, err := load(strings.Replace(example, "tray.quit: Afsluiten", line, 1))
		require.ErrorContains(t, err, fault, line)
	}
	_, err = load(strings.Replace(example, "nl:", "dutch_:", 1))
	require.ErrorContains(t, err, "want the tag of a language (BCP 47)")
}
