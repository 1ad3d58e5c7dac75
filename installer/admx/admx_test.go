package admx

import (
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
)

var acme = Program{Name: "acme-agent", Title: "Acme Agent", Key: `Software\Policies\acme-agent`, Namespace: "Acme.Policies.Agent"}

// TestEverySettingIsAPolicy: each setting can be held by an administrator, and every word and box that the definitions name is there in
// each language, and used.
func TestEverySettingIsAPolicy(t *testing.T) {
	files, err := Files(acme)
	require.NoError(t, err)
	require.Equal(t, "acme-agent.admx", files[0].Path)
	var d policyDefinitions
	require.NoError(t, xml.Unmarshal(files[0].Data, &d))
	var paths, want []string
	for _, p := range d.Policies {
		require.Equal(t, acme.Key, p.Key)
		switch {
		case p.Elements == nil:
			paths = append(paths, p.Value)
		case p.Elements.Choice != nil:
			paths = append(paths, p.Elements.Choice.Value)
		default:
			paths = append(paths, p.Elements.Text.Value)
		}
	}
	for _, k := range config.Keys() {
		want = append(want, k.Path)
	}
	require.Equal(t, want, paths)

	strings, boxes := references(files[0].Data, "string"), references(files[0].Data, "presentation")
	require.Len(t, files, 3)
	for i, path := range []string{"en-US/acme-agent.adml", "de-DE/acme-agent.adml"} {
		require.Equal(t, path, files[i+1].Path)
		var r policyDefinitionResources
		require.NoError(t, xml.Unmarshal(files[i+1].Data, &r))
		var ids, shown []string
		for _, s := range r.Strings {
			require.NotEmpty(t, s.Text, s.ID)
			ids = append(ids, s.ID)
		}
		for _, p := range r.Presentations {
			shown = append(shown, p.ID)
			if p.Dropdown != nil {
				require.Equal(t, p.ID, p.Dropdown.Of)
			} else {
				require.Equal(t, p.ID, p.TextBox.Of)
			}
		}
		slices.Sort(ids)
		slices.Sort(shown)
		require.Equal(t, strings, ids, path)
		require.Equal(t, boxes, shown, path)
	}
}

// references are the sorted names that a file refers to, each once.
func references(data []byte, kind string) (all []string) {
	for _, m := range regexp.MustCompile(`\$\(`+kind+`\.([^)]*)\)`).FindAllSubmatch(data, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestWhatTheSchemaAsks of templates, where nothing of the types of Go sees to it: the published BaseTypes.xsd for names and references,
// and what the group policy editor refuses to load.
func TestWhatTheSchemaAsks(t *testing.T) {
	files, err := Files(acme)
	require.NoError(t, err)
	var d policyDefinitions
	require.NoError(t, xml.Unmarshal(files[0].Data, &d))
	require.Equal(t, "1.0", d.Version)
	name := regexp.MustCompile(`^(\p{L}|\p{N}|_)+$`)
	categories, supported, policies := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, s := range d.Supported {
		supported[s.Name] = true
	}
	for _, c := range d.Categories {
		require.Regexp(t, name, c.Name)
		require.True(t, c.Parent == nil || categories[c.Parent.To], c.Name)
		categories[c.Name] = true
	}
	for _, p := range d.Policies {
		require.Regexp(t, name, p.Name)
		require.False(t, policies[p.Name], "%s is there twice", p.Name)
		policies[p.Name] = true
		require.True(t, categories[p.Parent.To], p.Name)
		require.True(t, supported[p.Supported.To], p.Name)
		require.Equal(t, p.Elements != nil, p.Presentation != "", "%s: what has boxes has a presentation of them", p.Name)
		if p.Presentation != "" {
			require.Equal(t, "$(presentation."+p.Name+")", p.Presentation)
		}
	}
	for _, s := range append(references(files[0].Data, "string"), references(files[0].Data, "presentation")...) {
		require.Regexp(t, name, s)
	}
	for _, f := range files[1:] {
		var r policyDefinitionResources
		require.NoError(t, xml.Unmarshal(f.Data, &r))
		ids := make(map[string]bool)
		for _, s := range r.Strings {
			require.False(t, ids[s.ID], "%s: %s is there twice", f.Path, s.ID)
			ids[s.ID] = true
		}
	}
}

// TestAgentTakesWhatTemplatesWrite: the values that the editor puts into the registry are settings, and in force.
func TestAgentTakesWhatTemplatesWrite(t *testing.T) {
	files, err := Files(acme)
	require.NoError(t, err)
	var d policyDefinitions
	require.NoError(t, xml.Unmarshal(files[0].Data, &d))
	values := make(map[string][]string)
	for _, p := range d.Policies {
		switch {
		case p.Elements == nil:
			values[p.Value] = []string{p.Enabled.Text, p.Disabled.Text}
		case p.Elements.Choice != nil:
			for _, i := range p.Elements.Choice.Items {
				values[p.Elements.Choice.Value] = append(values[p.Elements.Choice.Value], i.Value.Text)
			}
		}
	}
	for _, k := range config.Keys() {
		if _, fixed := values[k.Path]; !fixed && k.Default != "" { // what the help shows as an example
			values[k.Path] = []string{k.Default}
		}
	}
	for path, all := range values {
		for _, v := range all {
			cfg, settings, problems := config.Load(config.Options{Registry: []config.Registry{{Key: acme.Key, Values: map[string]string{path: v}}}})
			require.Empty(t, problems, "%s: %s", path, v)
			require.NotNil(t, cfg)
			i := slices.IndexFunc(settings, func(s config.Setting) bool { return s.Path == path })
			require.Equal(t, [2]string{v, string(config.LayerPolicy)}, [2]string{settings[i].Value, string(settings[i].Layer)})
		}
	}
}

func TestKindsOfPolicies(t *testing.T) {
	files, err := Files(acme)
	require.NoError(t, err)
	var d policyDefinitions
	require.NoError(t, xml.Unmarshal(files[0].Data, &d))
	named := make(map[string]policy)
	for _, p := range d.Policies {
		named[p.Name] = p
	}
	hid := named["sources_hid"]
	require.Equal(t, [3]string{"sources.hid", "true", "false"}, [3]string{hid.Value, hid.Enabled.Text, hid.Disabled.Text})
	exit := named["rpc_on_exit"].Elements.Choice
	require.Equal(t, "rpc.on_exit", exit.Value)
	require.Equal(t, []item{
		{"$(string.value_clear)", value{"clear"}}, {"$(string.value_unmute)", value{"unmute"}}, {"$(string.value_leave)", value{"leave"}},
	}, exit.Items)
	require.Equal(t, "report.fields", named["report_fields"].Elements.Text.Value, "several of few values are written into a box")

	german := string(files[2].Data)
	require.Contains(t, german, "Mehrere Werte werden durch Kommas getrennt.")
	require.True(t, strings.HasPrefix(german, `<?xml version="1.0" encoding="UTF-8"?>`))
}
