package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type color string

func (color) Enum() []string { return []string{"red", "green", "blue"} }

// tri reads itself from JSON, as devices.Tri does.
type tri int

func (t *tri) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*t = 1
	case "false":
		*t = -1
	case "null":
		*t = 0
	default:
		return fmt.Errorf("want true, false or null, not %s", b)
	}
	return nil
}

func (t tri) MarshalJSON() ([]byte, error) {
	return []byte(map[tri]string{-1: "false", 0: "null", 1: "true"}[t]), nil
}

// upper reads itself from text.
type upper []string

func (u *upper) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errors.New("this is bad")
	}
	*u = strings.Split(strings.ToUpper(string(b)), "+")
	return nil
}

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.Join(u, "+")), nil }

type inner struct {
	VID  string   `yaml:"vid,omitempty" json:"vid,omitempty"`
	List []string `yaml:"list,omitempty" json:"list,omitempty"`
}

type all struct {
	Name   string            `yaml:"name,omitempty" json:"name,omitempty"`
	Count  int               `yaml:"count,omitempty" json:"count,omitempty"`
	Small  int8              `yaml:"small,omitempty" json:"small,omitempty"`
	On     bool              `yaml:"on,omitempty" json:"on,omitempty"`
	Maybe  *bool             `yaml:"maybe,omitempty" json:"maybe,omitempty"`
	Color  color             `yaml:"color,omitempty" json:"color,omitempty"`
	Tri    tri               `yaml:"tri,omitempty" json:"tri,omitempty"`
	Upper  upper             `yaml:"upper,omitempty" json:"upper,omitempty"`
	Wait   time.Duration     `yaml:"wait,omitempty" json:"-"`
	When   time.Time         `yaml:"when,omitempty" json:"when,omitzero"`
	Inner  inner             `yaml:"inner,omitempty" json:"inner,omitempty"`
	Ptr    *inner            `yaml:"ptr,omitempty" json:"ptr,omitempty"`
	Inners []inner           `yaml:"inners,omitempty" json:"inners,omitempty"`
	Tris   map[string]tri    `yaml:"tris,omitempty" json:"tris,omitempty"`
	Colors map[color]int     `yaml:"colors,omitempty" json:"colors,omitempty"`
	Words  map[string]string `yaml:"words,omitempty" json:"words,omitempty"`
	Odd    chan int          `yaml:"odd,omitempty" json:"-"`
	Plain  string            `yaml:",omitempty" json:"plain,omitempty"`
	Hidden string            `yaml:"-" json:"-"`
	secret string            // unexported: no key
}

type strict struct {
	ID    string   `yaml:"id"`
	Kinds []string `yaml:"kinds"`
	Inner *inner   `yaml:"inner"`
}

func TestDecodeAccepts(t *testing.T) {
	yes := true
	when := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		in   string
		want all
	}{
		"scalars":          {"name: x\ncount: -3\nsmall: 127\non: true\nmaybe: true\nplain: p\n", all{Name: "x", Count: -3, Small: 127, On: true, Maybe: &yes, Plain: "p"}},
		"quoted":           {"name: '0710'\ninner: {vid: \"1e10\"}\n", all{Name: "0710", Inner: inner{VID: "1e10"}}},
		"own readers":      {"tri: true\nupper: a+b\ncolor: blue\n", all{Tri: 1, Upper: upper{"A", "B"}, Color: "blue"}},
		"number as text":   {"upper: 6463\n", all{Upper: upper{"6463"}}},
		"times":            {"wait: 1m30s\nwhen: 2026-01-31T15:04:05Z\n", all{Wait: 90 * time.Second, When: when}},
		"zero needs none":  {"wait: 0\n", all{}},
		"nested":           {"ptr:\n  vid: ab12\n  list: [a, 'b']\ninners:\n- vid: c\n- list:\n  - d\n", all{Ptr: &inner{VID: "ab12", List: []string{"a", "b"}}, Inners: []inner{{VID: "c"}, {List: []string{"d"}}}}},
		"maps":             {"tris: {a: true, b c: false, d: null}\ncolors:\n  red: 1\nwords: {1: one}\n", all{Tris: map[string]tri{"a": 1, "b c": -1, "d": 0}, Colors: map[color]int{"red": 1}, Words: map[string]string{"1": "one"}}},
		"null is absent":   {"name:\ncount: null\nptr: ~\ninners:\ntri: null\nwords:\n  # nothing yet\n", all{}},
		"empty list":       {"inners: []\n", all{Inners: []inner{}}},
		"json escapes":     {"{\"name\":\"a\u2028\\u0041\\\\ud83c\u0085\\uD83C\",\"plain\": \"\\n\"}", all{Name: "a\u2028A\\ud83c\u0085\uFFFD", Plain: "\n"}},
		"json":             {"{\"name\":\"\\ud83c\\udfa4 \\/\",\n\t\"inners\": [\t{\"vid\":\"a\"}],\r\n\t\t\"count\":7}\n", all{Name: "🎤 /", Inners: []inner{{VID: "a"}}, Count: 7}},
		"other line ends":  {"name: x\r\ncount: 1\ron: true\rplain: \"y\"", all{Name: "x", Count: 1, On: true, Plain: "y"}},
		"byte order mark":  {"\uFEFFname: x\n", all{Name: "x"}},
		"one document":     {"# comment\n---\nname: x\n...\n# end\n", all{Name: "x"}},
		"space at the end": {"name: x  \t\ncount:   5   \n", all{Name: "x", Count: 5}},
		"empty":            {"", all{}},
		"only comments":    {"# a\n\n# b\n", all{}},
		"colon in text":    {"name: http://x/a:b\n", all{Name: "http://x/a:b"}},
		"quotes":           {"name: 'it''s'\nplain: \"\\\"\\\\\"\nwords: {'a': \"b\"}\n", all{Name: "it's", Plain: `"\`, Words: map[string]string{"a": "b"}}},
		"escapes":          {"name: \"\\x41\\u00e4\\\\x\" # C:\\x\\\nplain: C:\\x\\\n", all{Name: `Aä\x`, Plain: `C:\x\`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got all
			_, problems := Decode("f.yaml", []byte(tc.in), &got)
			require.Empty(t, problems)
			require.Equal(t, tc.want, got)
			require.Empty(t, got.secret)
		})
	}
}

func TestDecodeKeepsDefaults(t *testing.T) {
	got := all{Name: "default", Count: 5, Inner: inner{VID: "v", List: []string{"a", "b"}}, Words: map[string]string{"a": "b"}}
	_, problems := Decode("f", []byte("name:\ninner: {list: [c]}\nwords: {c: d}\n"), &got)
	require.Empty(t, problems)
	require.Equal(t, all{Name: "default", Count: 5, Inner: inner{VID: "v", List: []string{"c"}}, Words: map[string]string{"c": "d"}}, got)
}

func TestDecodeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"unknown key":        {"nmae: x\n", []string{`f:1:1: unknown key: "nmae" (did you mean "name"?)`}},
		"unknown key deep":   {"inners:\n  - vid: a\n    lsit: []\n", []string{`f:3:5: unknown key: "lsit" (did you mean "list"?)`}},
		"unknown, none near": {"inner:\n  zzzzzz: x\n", []string{`f:2:3: unknown key: "zzzzzz" (want one of: vid, list)`}},
		"unknown, used name": {"inner: {vid: a}\niner: {}\n", []string{`f:2:1: unknown key: "iner" (did you mean "inner"?)`}},
		"tabs in the line":   {"words:\t{\"a\\\"\t\":\t'x''\t', b:\t1}\t# c\n", []string{`f:1:28: want text, found a number: "1" (put it in quotes: "1")`}},
		"private fields":     {"hidden: x\nsecret: x\n", []string{`f:1:1: unknown key: "hidden"`, `f:2:1: unknown key: "secret"`}},
		"duplicate key":      {"name: a\non: true\nname: b\n", []string{`f:3:1: duplicate key: "name" (first on line 1)`}},
		"duplicate in map":   {"words: {a: b, a: c}\n", []string{`f:1:15: duplicate key: "a" (first on line 1)`}},
		"want list":          {"inners: usb\n", []string{`f:1:9: want a list, found text: "usb"`}},
		"want list, keys":    {"inners:\n  vid: a\n", []string{`f:2:3: want a list, found keys with values`}},
		"want keys":          {"inner: [a]\n", []string{`f:1:8: want keys with values, found a list`}},
		"want keys in map":   {"words: a\n", []string{`f:1:8: want keys with values, found text: "a"`}},
		"want text":          {"name: [a]\n", []string{`f:1:7: want text, found a list`}},
		"empty entry":        {"inners:\n- # x\non: true\n", []string{`f:2:2: want keys with values, found nothing`}},
		"null in a list":     {"inner:\n  list: [a, ~]\n", []string{`f:2:13: want text, found nothing: "~"`}},
		"null in a map":      {"words: {a: }\n", []string{`f:1:9: want text, found nothing`}},
		"number for text":    {"name: 123456789012345678\n", []string{`f:1:7: want text, found a number: "123456789012345678" (put it in quotes: "123456789012345678")`}},
		"octal for text":     {"inner: {vid: 0710}\n", []string{`f:1:14: want text, found a number: "0710" (put it in quotes: "0710")`}},
		"binary for text":    {"inner: {vid: 0b0e}\n", []string{`f:1:14: want text, found a number: "0b0e" (put it in quotes: "0b0e")`}},
		"float for text":     {"inner: {vid: 12e4}\n", []string{`f:1:14: want text, found a number: "12e4" (put it in quotes: "12e4")`}},
		"bool for text":      {"name: true\n", []string{`f:1:7: want text, found true or false: "true" (put it in quotes: "true")`}},
		"text for number":    {"count: five\n", []string{`f:1:8: want a whole number, found text: "five"`}},
		"quoted number":      {"count: \"5\"\n", []string{`f:1:8: want a whole number, found text: "5" (remove the quotes)`}},
		"float for number":   {"count: 1.5\n", []string{`f:1:8: want a whole number in decimal digits: "1.5"`}},
		"octal for number":   {"count: 010\n", []string{`f:1:8: want a whole number in decimal digits: "010"`}},
		"number too large":   {"count: 99999999999999999999\nsmall: 128\n", []string{`f:1:8: the number is out of range: "99999999999999999999"`, `f:2:8: the number is out of range: "128"`}},
		"yes for bool":       {"on: yes\n", []string{`f:1:5: want true or false, found text: "yes"`}},
		"True for bool":      {"on: True\n", []string{`f:1:5: want true or false in lower case: "True"`}},
		"quoted bool":        {"on: 'true'\n", []string{`f:1:5: want true or false, found text: "true" (remove the quotes)`}},
		"enum":               {"color: gren\n", []string{`f:1:8: unknown value: "gren" (did you mean "green"?)`}},
		"enum, none near":    {"color: purple\n", []string{`f:1:8: unknown value: "purple" (want one of: red, green, blue)`}},
		"enum wants text":    {"color: [red]\n", []string{`f:1:8: want one of red, green, blue, found a list`}},
		"enum key":           {"colors: {bleu: 1}\n", []string{`f:1:10: unknown key: "bleu" (did you mean "blue"?)`}},
		"duration":           {"wait: 5\nwhen: noon\n", []string{`f:1:7: want a duration such as 250ms, 5s or 2m, found a number: "5" (add a unit: 5s)`, `f:2:7: want a time such as 2026-01-31T15:04:05Z, found text: "noon"`}},
		"duration, text":     {"wait: soon\n", []string{`f:1:7: want a duration such as 250ms, 5s or 2m, found text: "soon"`}},
		"duration, list":     {"wait: [5s]\n", []string{`f:1:7: want a duration such as 250ms, 5s or 2m, found a list`}},
		"own JSON reader":    {"tri: maybe\ntris: {a: [1, {b: 010, c: ~}]}\n", []string{`f:1:6: want true, false or null, not "maybe": "maybe"`, `f:2:11: want true, false or null, not [1,{"b":"010","c":null}]`}},
		"own text reader":    {"upper: bad\n", []string{`f:1:8: this is bad: "bad"`}},
		"own text, list":     {"upper: [bad]\n", []string{`f:1:8: want text, found a list`}},
		"impossible type":    {"odd: 1\n", []string{`f:1:6: no value is possible here: chan int: "1"`}},
		"not keys at all":    {"name:x\n", []string{`f:1:1: want keys with values, found text: "name:x" (a space is needed after ':')`}},
		"all at once": {"on: 1\nfoo: 1\ncount: x\ninner:\n  vid: 1\n", []string{
			`f:1:5: want true or false, found a number: "1"`,
			`f:2:1: unknown key: "foo"`,
			`f:3:8: want a whole number, found text: "x"`,
			`f:5:8: want text, found a number: "1" (put it in quotes: "1")`,
		}},
		"control characters in a key": {"\"a\\nb\": 1\n", []string{`f:1:1: unknown key: "a\nb"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Decode("f", []byte(tc.in), &all{})
			require.Equal(t, tc.want, texts(problems))
		})
	}
}

func TestDecodeRequires(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"missing":      {"id: a\n", []string{`f:1:1: missing key: "inner"`, `f:1:1: missing key: "kinds"`}},
		"null":         {"id:\nkinds: []\ninner: {}\n", []string{`f:1:1: want text, found nothing`}},
		"null pointer": {"id: a\nkinds: []\ninner: null\n", []string{`f:3:8: want keys with values, found nothing: "null"`}},
		"misspelled":   {"di: a\nkinds: []\ninner: {}\n", []string{`f:1:1: unknown key: "di" (did you mean "id"?)`, `f:1:1: missing key: "id"`}},
		"empty":        {"", []string{"f:1:1: the file is empty"}},
		"comments":     {"# a\n---\n# b\n", []string{"f:1:1: the file is empty"}},
		"list":         {"- id: a\n", []string{"f:1:1: want keys with values, found a list"}},
		"good":         {"id: a\nkinds: [x]\ninner: {}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Decode("f", []byte(tc.in), &strict{})
			require.Equal(t, tc.want, texts(problems))
		})
	}
}

func TestDecodeList(t *testing.T) {
	var got []inner
	_, problems := Decode("f", []byte("- vid: a\n- vid: b\n"), &got)
	require.Empty(t, problems)
	require.Equal(t, []inner{{VID: "a"}, {VID: "b"}}, got)
	_, problems = Decode("f", nil, &got)
	require.Equal(t, []string{"f:1:1: the file is empty"}, texts(problems))
}

func TestDecodeText(t *testing.T) {
	var got all
	require.Empty(t, DecodeText("E", "0710", &got.Name))
	require.Empty(t, DecodeText("E", "12", &got.Count))
	require.Empty(t, DecodeText("E", "false", &got.On))
	require.Empty(t, DecodeText("E", "5s", &got.Wait))
	require.Empty(t, DecodeText("E", "red", &got.Color))
	require.Empty(t, DecodeText("E", "a+b", &got.Upper))
	require.Empty(t, DecodeText("E", "a, 12 ,c", &got.Inner.List))
	require.Equal(t, all{
		Name: "0710", Count: 12, Wait: 5 * time.Second, Color: "red",
		Upper: upper{"A", "B"}, Inner: inner{List: []string{"a", "12", "c"}},
	}, got)
	require.Empty(t, DecodeText("E", "", &got.Inner.List))
	require.Empty(t, got.Inner.List)
	require.Equal(t, []string{`E: want a whole number, found text: "x"`}, texts(DecodeText("E", "x", &got.Count)))
	require.Equal(t, []string{`E: want true or false, found text: "yes"`}, texts(DecodeText("E", "yes", &got.On)))
	require.Equal(t, []string{`E: unknown value: "gren" (did you mean "green"?)`}, texts(DecodeText("E", "gren", &got.Color)))
}

func texts(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// FuzzDecode: no input panics, every problem is inside the file and on one line, and what is
// accepted survives being written as JSON and read again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"name: x\ninner: {vid: '0710', list: [a, b]}\n", "- a\n- b: c\n", "{\"name\":\"\\ud83c\"}", "a: &x 1\nb: *x\n",
		"tris: {a: true, 'b c': null}\ncolors: {red: 1}\n", "wait: 5s\nwhen: 2026-01-31T15:04:05Z\n", "name: |\n  x\n", "\tname: x\n",
		"name: \"a\n\n b\"\n", "?", "[[[[", "---\n---\n", "%YAML 1.2\n", "upper: 1\ntri: null\n", "name: x\r\ron: true\r\n", "inners:\n-\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got all
		doc, problems := Decode("f", data, &got)
		requireInside(t, doc, data, problems)
		if len(problems) > 0 {
			return
		}
		wait := got.Wait
		out, err := json.Marshal(got)
		require.NoError(t, err)
		var again all
		_, problems = Decode("f", out, &again)
		require.Empty(t, texts(problems), "%s", out)
		again.Wait = wait
		back, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(out), string(back))
	})
}

// requireInside checks the positions against the file's own lines.
func requireInside(t *testing.T, doc *Document, data []byte, problems []Problem) {
	t.Helper()
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\uFEFF"))
	lines := strings.Split(text, "\n")
	for _, p := range problems {
		require.LessOrEqual(t, 1, p.Line)
		require.LessOrEqual(t, p.Line, len(lines))
		require.LessOrEqual(t, 1, p.Column)
		require.LessOrEqual(t, p.Column, len([]rune(lines[p.Line-1]))+1)
		require.NotContains(t, p.String(), "\n")
		require.NotEmpty(t, p.Message)
		line, column := doc.Position(p.Path)
		require.Positive(t, line)
		require.Positive(t, column)
	}
}
