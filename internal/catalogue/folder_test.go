package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml/strictyamltest"
)

const ofFolder = `schema: 1
vendor: {id: acme, name: Acme Audio, url: https://acme.example, client_id: "123456789012345678"}
products:
  - id: one
    name: One
    url: https://acme.example/one
    priority: 1
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}]
`

// TestFolder: the catalogues of a folder are one. What only together they have wrong is said where it is.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	second := strings.NewReplacer("id: one", "id: two", "0700", "0701", "One", "Two").Replace(ofFolder)
	load := func() (ids, problems []string) {
		cat, found, err := Load(dir)
		require.NoError(t, err)
		if cat != nil {
			for _, p := range cat.Products {
				ids = append(ids, p.ID)
			}
		}
		return ids, strictyamltest.Texts(found)
	}
	_, _, err := Load(dir)
	require.ErrorContains(t, err, "no catalogue is in this folder")

	put("a.yaml", ofFolder)
	ids, problems := load()
	require.Empty(t, problems)
	require.Equal(t, []string{"one"}, ids)

	b := put("b.yaml", second)
	put(".b.yaml.swp", "x")
	put("README.md", "x")
	ids, problems = load()
	require.Empty(t, problems)
	require.Equal(t, []string{"one", "two"}, ids)

	for change, want := range map[*strings.Replacer]string{
		strings.NewReplacer("id: two", "id: one"):         b + ":4:9: duplicate product id",
		strings.NewReplacer("Acme Audio", "Acme"):         b + ":2:9: not the same as in a.yaml",
		strings.NewReplacer("priority: 1", "priority: 0"): b + ":7:15:",
	} {
		put("b.yaml", change.Replace(second))
		ids, problems = load()
		require.Empty(t, ids)
		require.Len(t, problems, 1)
		require.Contains(t, problems[0], want)
	}
	_, err = LoadWarnings(dir)
	require.NoError(t, err)
}
