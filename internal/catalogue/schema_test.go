package catalogue

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
)

var update = flag.Bool("update", false, "write catalogue.schema.json and the golden files")

// generateSchema makes the schema from the Go types. It lives in a test so that the library
// is not linked into the agent.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := reflector.Reflector{Anonymous: true, Mapper: func(t reflect.Type) *reflector.Schema {
		switch t {
		case reflect.TypeFor[Byte]():
			return &reflector.Schema{OneOf: []*reflector.Schema{
				{Type: "integer", Minimum: "0", Maximum: "255"}, {Type: "string", Pattern: "^0[xX][0-9a-fA-F]{1,2}$"},
			}}
		case reflect.TypeFor[hid.Bytes]():
			return &reflector.Schema{Type: "string", Pattern: "^( *[0-9a-fA-F]{2})* *$"}
		}
		e, ok := reflect.Zero(t).Interface().(interface{ Enum() []string })
		if !ok {
			return nil
		}
		s := &reflector.Schema{Type: "string"}
		for _, name := range e.Enum() {
			s.Enum = append(s.Enum, name)
		}
		return s
	}}
	schema := r.Reflect(&Catalogue{})
	schema.Title = "Sidetone catalogue"
	schema.Description = "What a hardware vendor says about its products."
	out, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	return append(out, '\n')
}

func TestSchemaIsCurrent(t *testing.T) {
	want := generateSchema(t)
	if *update {
		require.NoError(t, os.WriteFile("catalogue.schema.json", want, 0o644))
		return
	}
	require.Equal(t, string(want), string(Schema), "run 'go generate ./internal/catalogue'")
}

// TestSchemaJudges checks that the schema agrees with the decoder where a schema can.
func TestSchemaJudges(t *testing.T) {
	schema := compileSchema(t)
	require.NoError(t, validate(t, schema, filepath.Join("..", "..", "examples", "acme.yaml")))
	for _, name := range []string{
		"unknown-key", "unknown-name", "missing-key", "wrong-type", "number-for-text", "client-id", "empty-names", "hardware-ids", "schema-2", "empty-lists",
	} {
		require.Error(t, validate(t, schema, filepath.Join("testdata", "broken", name+".yaml")), name)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("catalogue.schema.json", doc))
	schema, err := c.Compile("catalogue.schema.json")
	require.NoError(t, err)
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, path string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	asJSON, err := yaml.YAMLToJSON(data)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	return schema.Validate(doc)
}

// The schema must name what the code knows.
func TestSchemaHasNames(t *testing.T) {
	for _, name := range []string{"hardware_mute", "dongle", "bus_info", "videoinput", "darwin", "container", "auto"} {
		require.Contains(t, string(Schema), `"`+name+`"`)
	}
}
