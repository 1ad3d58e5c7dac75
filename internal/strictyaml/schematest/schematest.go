// Package schematest makes and tries the JSON Schemas of files that people write. It is for tests, so that no program links what it needs.
package schematest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Current compares a schema with the one that r makes of the Go type of value; with update it writes that into file.
func Current(t *testing.T, update bool, file string, is []byte, r reflector.Reflector, value any, title, description string) {
	t.Helper()
	schema := r.Reflect(value)
	schema.Title, schema.Description = title, description
	want, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
		return
	}
	require.Equal(t, string(want), string(is), "run 'go generate' here")
}

// Compile makes a validator of a schema.
func Compile(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	compiled, err := c.Compile("schema.json")
	require.NoError(t, err)
	return compiled
}

// Validate judges a YAML file.
func Validate(t *testing.T, schema *jsonschema.Schema, path string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	doc, err := Plain(data)
	require.NoError(t, err)
	return schema.Validate(doc)
}

// Plain reads YAML as a validator wants it.
func Plain(data []byte) (any, error) {
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
}
