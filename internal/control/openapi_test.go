package control

import (
	"bytes"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml/schematest"
)

// document is docs/openapi.yaml. For the tests no object may have a member that it does not
// list.
var document = sync.OnceValue(func() map[string]any {
	text, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		panic(err)
	}
	doc, err := schematest.Plain(text)
	if err != nil {
		panic(err)
	}
	for name, schema := range dig(doc, "components", "schemas") {
		s := schema.(map[string]any)
		if s["properties"] != nil && name != "Status" && name != "PushRequest" {
			s["additionalProperties"] = false
		}
	}
	return doc.(map[string]any)
})

func dig(v any, path ...string) map[string]any {
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v.(map[string]any)
}

// schemaOf compiles the schema at a place in the document; if strict, no member counts as
// valid that is not listed.
func schemaOf(t testing.TB, pointer string, strict bool) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("openapi.json", document()))
	root := map[string]any{"allOf": []any{map[string]any{"$ref": "openapi.json#" + pointer}}}
	if strict {
		root["unevaluatedProperties"] = false
	}
	require.NoError(t, c.AddResource("root.json", root))
	schema, err := c.Compile("root.json")
	require.NoError(t, err, pointer)
	return schema
}

// answers holds a compiled schema for each place of an answer in the document.
var answers sync.Map

// valid checks an answer, all of whose members must be listed.
func valid(t testing.TB, pointer string, body []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err, "%s", body)
	schema, known := answers.Load(pointer)
	if !known {
		schema, _ = answers.LoadOrStore(pointer, schemaOf(t, pointer, true))
	}
	return schema.(*jsonschema.Schema).Validate(v)
}

func escape(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

// operation finds what the document says of a path as it was sent.
func operation(method, path string) (pointer string, op map[string]any) {
	path, _, _ = strings.Cut(path, "?")
	if rest, ok := strings.CutPrefix(path, "/v1/states/"); ok && rest != "" && !strings.Contains(rest, "/") {
		path = "/v1/states/{product}"
	}
	item, known := dig(document(), "paths")[path].(map[string]any)
	if !known || item[strings.ToLower(method)] == nil {
		return "", nil
	}
	return "/paths/" + escape(path) + "/" + strings.ToLower(method), dig(item, strings.ToLower(method))
}

// documented checks an answer against the document. What the document does not have must be
// answered with a Problem.
func documented(t testing.TB, method, path string, answer *http.Response, body []byte) {
	t.Helper()
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	pointer, op := operation(method, path)
	status := strconv.Itoa(answer.StatusCode)
	if op == nil {
		require.Contains(t, []string{"403", "404", "405", "400", "503"}, status)
		status = "default"
		pointer, op = operation("GET", "/v1/status")
	}
	if method == http.MethodHead {
		return
	}
	said := dig(op, "responses")
	if said[status] == nil {
		require.GreaterOrEqual(t, answer.StatusCode, 400, "a success that is not in the document")
		status = "default"
	}
	pointer += "/responses/" + status
	response := said[status].(map[string]any)
	if ref, is := response["$ref"].(string); is {
		pointer = strings.TrimPrefix(ref, "#")
		response = dig(document(), strings.Split(pointer, "/")[1:]...)
	}
	content, _ := response["content"].(map[string]any)
	if content == nil {
		require.Empty(t, body)
		return
	}
	require.NoError(t, err)
	media, known := content[kind].(map[string]any)
	require.True(t, known, "%s %s: %s", method, path, kind)
	if kind == "application/json" {
		require.NotNil(t, media["schema"])
		require.NoError(t, valid(t, pointer+"/content/"+escape(kind)+"/schema", body), "%s", body)
	}
}

func TestDocumentHasEveryRoute(t *testing.T) {
	want := map[string][]string{}
	for path, item := range dig(document(), "paths") {
		for method := range item.(map[string]any) {
			want[path] = append(want[path], strings.ToUpper(method))
		}
	}
	got := map[string][]string{}
	for path, to := range NewServer(newFake(), nil).routes {
		got[path] = []string{to.method}
	}
	require.Equal(t, want, got)
}

// TestDocumentExamples checks each example of the document against its schema, and that each
// code of a Problem is listed.
func TestDocumentExamples(t *testing.T) {
	n := 0
	var walk func(pointer string, v any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if example, has := v["example"]; has && v["schema"] != nil {
				n++
				require.NoError(t, schemaOf(t, pointer+"/schema", true).Validate(example), pointer)
			}
			for name, member := range v {
				if name != "example" {
					walk(pointer+"/"+escape(name), member)
				}
			}
		case []any:
			for i, member := range v {
				walk(pointer+"/"+strconv.Itoa(i), member)
			}
		}
	}
	walk("", document())
	require.Greater(t, n, 9)

	for _, code := range []Code{
		CodeUnknown, CodeAmbiguous, CodeStale, CodeConflict, CodeInvalid, CodeForbidden, CodePath, CodeMethod, CodeTooLarge, CodeMediaType, CodeBusy, CodeStopping, CodeTimeout, CodeInternal,
	} {
		require.NoError(t, valid(t, "/components/schemas/Problem", []byte(`{"code":"`+string(code)+`","error":"x"}`)))
	}
	require.Error(t, valid(t, "/components/schemas/Problem", []byte(`{"code":"else","error":"x"}`)))
	require.Error(t, valid(t, "/components/schemas/Problem", []byte(`{"code":"busy","error":"x","more":1}`)), "the check of members works")
}

// TestAnswersAreDocumented has every field of every answer checked, and then none.
func TestAnswersAreDocumented(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/status", ""},
		{"GET", "/v1/devices", ""},
		{"GET", "/v1/timeline", ""},
		{"GET", "/v1/bundle", ""},
		{"POST", "/v1/refresh", ""},
		{"POST", "/v1/reload", ""},
		{"POST", "/v1/pause", `{"for_ms":1000}`},
		{"POST", "/v1/resume", ""},
		{"POST", "/v1/stop", ""},
		{"POST", "/v1/log-level", `{"level":"debug"}`},
		{"PUT", "/v1/states/acme-700", aPush},
		{"POST", "/v1/upgrade", ""},
	} {
		answer, _ := s.ask(c.method, c.path, c.body)
		require.Less(t, answer.StatusCode, 300, c.path)
	}
	s.backend.set(func(status *Status) {
		*status = Status{
			PID: 1, Started: at(0), Sources: []Source{}, Products: []Product{}, HID: []HID{}, Pushes: []Push{},
			Clients: Clients{Sessions: []Session{}}, Conditions: []Condition{},
		}
	})
	_, body := s.ask("GET", "/v1/status", "")
	require.Contains(t, body, `"products":[]`)
}
