package catalogue

import (
	"flag"
	"path/filepath"
	"reflect"
	"testing"

	reflector "github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
	"sidetone/internal/strictyaml/schematest"
)

var update = flag.Bool("update", false, "write catalogue.schema.json and the golden files")

// schemaRules say what the Go types do not. They live in a test so that the library is not linked into the agent.
var schemaRules = reflector.Reflector{Anonymous: true, Mapper: func(t reflect.Type) *reflector.Schema {
	switch t {
	case reflect.TypeFor[Byte]():
		return &reflector.Schema{OneOf: []*reflector.Schema{
			{Type: "integer", Minimum: "0", Maximum: "255"}, {Type: "string", Pattern: "^0[xX][0-9a-fA-F]{1,2}$"},
		}}
	case reflect.TypeFor[Events]():
		number := func() *reflector.Schema { return &reflector.Schema{Type: "integer", Minimum: "0", Maximum: "15"} }
		return &reflector.Schema{OneOf: []*reflector.Schema{number(), {Type: "array", MinItems: new(uint64(1)), Items: number()}}}
	case reflect.TypeFor[Usages]():
		usage := func() *reflector.Schema {
			return &reflector.Schema{Type: "string", Pattern: "^([0-9a-fA-F]{1,4}:)?[0-9a-fA-F]{1,4}$"}
		}
		return &reflector.Schema{OneOf: []*reflector.Schema{usage(), {Type: "array", MinItems: new(uint64(1)), Items: usage()}}}
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

func TestSchemaIsCurrent(t *testing.T) {
	schematest.Current(t, *update, "catalogue.schema.json", Schema, schemaRules, &Catalogue{},
		"Sidetone catalogue", "What a hardware vendor says about its products.")
}

// TestSchemaJudges checks that the schema agrees with the decoder where a schema can.
func TestSchemaJudges(t *testing.T) {
	schema := schematest.Compile(t, Schema)
	require.NoError(t, schematest.Validate(t, schema, filepath.Join("..", "..", "examples", "acme.yaml")))
	for _, name := range []string{
		"unknown-key", "unknown-name", "missing-key", "wrong-type", "number-for-text", "client-id", "empty-names", "hardware-ids",
		"schema-2", "empty-lists",
	} {
		require.Error(t, schematest.Validate(t, schema, filepath.Join("testdata", "broken", name+".yaml")), name)
	}
}

// The schema must name what the code knows.
func TestSchemaHasNames(t *testing.T) {
	for _, name := range []string{"hardware_mute", "dongle", "bus_info", "videoinput", "darwin", "container", "auto"} {
		require.Contains(t, string(Schema), `"`+name+`"`)
	}
}
