package brand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestStays(t *testing.T) {
	acme := Identity{"acme", one}
	require.NoError(t, acme.Stays(acme))
	require.ErrorContains(t, acme.Stays(Identity{"beta", one}), "stop it and start it anew")
	require.ErrorContains(t, acme.Stays(Identity{"acme", two}), two)
}

func TestLoad(t *testing.T) {
	require.Equal(t, "/opt/acme/agent.brand.yaml", Path("/opt/acme/agent"))
	require.Equal(t, `C:\Acme\agent.brand.yaml`, Path(`C:\Acme\agent.exe`))

	path := filepath.Join(t.TempDir(), "agent.brand.yaml")
	f, err := Load(path)
	require.NoError(t, err)
	require.Nil(t, f)
	for text, fault := range map[string]string{
		"vendor: {id: acme, client_id: \"" + one + "\"}":              "",
		"vendor: {id: Acme, client_id: \"" + one + "\"}":              `vendor.id: "Acme" is not lower-case letters`,
		"vendor: {id: clients, client_id: \"" + one + "\"}":           "clients is no vendor's id",
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
		require.Equal(t, &File{Path: path, Vendor: Identity{"acme", one}}, f)
	}
}
