package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/internal/engine"
)

const (
	exampleCatalogue = "../../examples/acme.yaml"
	exampleTrace     = "../../examples/traces/headset-700-mute.jsonl"
)

// vendor is a folder with the example catalogue and its traces.
func vendor(t *testing.T) (catalogue, trace string) {
	t.Helper()
	text, err := os.ReadFile(exampleTrace)
	require.NoError(t, err)
	catalogue = write(t, "acme.yaml", string(examples.Acme))
	trace = filepath.Join(filepath.Dir(catalogue), "traces", "headset-700-mute.jsonl")
	require.NoError(t, os.Mkdir(filepath.Dir(trace), 0o700))
	require.NoError(t, os.WriteFile(trace, text, 0o640))
	return catalogue, trace
}

// edit replaces parts of a file.
func edit(t *testing.T, path string, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	edited := strings.NewReplacer(pairs...).Replace(string(text))
	require.NotEqual(t, string(text), edited)
	require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestReplayOfBadFiles(t *testing.T) {
	t.Parallel()
	const header = `{"t":"0s","recording":{"version":1,"os":"linux"}}` + "\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":            {"", []string{"it is empty"}},
		"comments only":    {"# nothing\n\n", []string{"it is empty"}},
		"something else":   {"# Sidetone\n\nSidetone is\n", []string{":3: this is not a recording: want lines of JSON"}},
		"one line":         {"PNG\x00", []string{":1: this is not a recording"}},
		"no header":        {"\n" + `{"t":"0s","tick":true}` + "\n", []string{":2: ", "the first line has no \"recording\""}},
		"a later version":  {strings.Replace(header, "1", "9", 1), []string{":1: ", "a recording of version 9: this program reads version 1"}},
		"an unknown kind":  {header + "# what is this\n\n" + `{"t":"1s","moon":{}}` + "\n", []string{":4: ", `unknown field "moon"`}},
		"no kind":          {header + `{"t":"1s"}` + "\n", []string{":2: ", "want beside t one of recording, begin"}},
		"torn in between":  {header + `{"t":"1s","ti` + "\n" + `{"t":"1s","tick":true}` + "\n", []string{":2: ", "unexpected end"}},
		"backwards":        {header + `{"t":"2s","tick":true}` + "\n" + `{"t":"1s","tick":true}` + "\n", []string{":3: ", "1s is before that of a record before it, 2s"}},
		"a refused push":   {header + `{"t":"2s","push":{"product":"acme","owner":"x","state":{"hardware_mute":true}}}` + "\n", []string{":2: ", `no product "acme"`}},
		"an endless line":  {strings.Repeat(" ", maxRecord+1), []string{":1: ", "a line of more than"}},
		"two lines in one": {header + `{"t":"1s","tick":true} {"t":"1s","tick":true}` + "\n", []string{":2: ", "invalid character"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "bad.jsonl", c.text)
			isBadInput(t, sidetone(t, nil, "replay", "--catalogue", exampleCatalogue, file), append(c.want, file)...)
		})
	}
	isBadInput(t, sidetone(t, nil, "replay", exampleTrace), ":3: ", "no settings of its own", "with --catalogue FILE")
	isBadInput(t, sidetone(t, nil, "replay", "nothing.jsonl"), "nothing.jsonl")
	isBadInput(t, sidetone(t, nil, "replay", exampleTrace, "--catalogue", "nothing.yaml"), "nothing.yaml")
	isBadInput(t, sidetone(t, nil, "replay", t.TempDir()), "cannot read")
	isBadInput(t, sidetone(t, nil, "replay"), ": name FILE (see 'sidetone replay --help')")
	isBadInput(t, sidetone(t, nil, "record", "--for", "-1s", "x"), "--for")
}

// TestReplayOfTornFile plays what is whole where the last line is not.
func TestReplayOfTornFile(t *testing.T) {
	t.Parallel()
	text := read(t, exampleTrace)
	file := write(t, "torn.jsonl", strings.TrimRight(text, "\n")[:len(text)-10])
	o := sidetone(t, nil, "replay", "--catalogue", exampleCatalogue, file)
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, fmt.Sprintf("torn.jsonl:%d: the last line is not whole: left out", strings.Count(text, "\n")))
	require.Contains(t, o.stdout, "replayed 3 inputs of 5s")
	require.Contains(t, o.stdout, "a list that does not come")

	file = write(t, "unended.jsonl", strings.TrimRight(text, "\n"))
	o = sidetone(t, nil, "replay", "--catalogue", exampleCatalogue, file)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Empty(t, o.stderr, "the last line is whole, only its end is missing")
}

// What a recording of others says does not act on the terminal.
func TestReplayIsPrintable(t *testing.T) {
	t.Parallel()
	const header = `{"t":"0s","recording":{"version":1,"os":"linux"}}` + "\n"
	file := write(t, "odd.jsonl", header+
		`{"t":"0s","list":{"devices":[{"type":"audioinput","id":"\u009b2J","vendor":{"name":"a","url":"b"},"model":{"name":"a","url":"b"}}]}}`+"\n"+
		`{"t":"1s","end":{"error":"\u001b[2J"}}`+"\n")
	o := sidetone(t, nil, "replay", "--catalogue", exampleCatalogue, file)
	require.Equal(t, exitFailed, o.code, o.stderr)
	require.Contains(t, o.stderr, "ends before its time: \ufffd[2J;")
	require.Contains(t, o.stdout, "at 0s a list that does not come:\n  recorded ")
	require.Contains(t, o.stdout, `"id":"`+"\ufffd2J\"")
}

func TestCatalogueTest(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "catalogue", "test", exampleCatalogue)
	require.Equal(t, exitOK, o.code, "the example must stand: %s%s", o.stdout, o.stderr)
	require.Contains(t, o.stdout, filepath.FromSlash(exampleTrace)+": ok, 4 inputs, 3 lists\n")

	catalogue, trace := vendor(t)
	edit(t, catalogue, "require_hardware_support: false", "require_hardware_support: true")
	before := read(t, trace)
	o = sidetone(t, nil, "catalogue", "test", exampleCatalogue, catalogue)
	require.Equal(t, exitFailed, o.code)
	require.Empty(t, o.stderr)
	require.Contains(t, o.stdout, "headset-700-mute.jsonl: ok")
	require.Regexp(t, regexp.QuoteMeta(trace)+`: 2 differences\nat 0s another list:\n  audioinput "Acme Headset 700[^"]*": hardware_mute recorded false, replayed nothing\n`, o.stdout)
	require.Equal(t, before, read(t, trace))

	isBadInput(t, sidetone(t, nil, "catalogue", "test", acme(t, "schema: 1", "schema: 2")), "acme.yaml:7:9")
	alone := acme(t, "schema: 1", "schema: 1")
	missing := filepath.Join(filepath.Dir(alone), "traces", "headset-700-mute.jsonl")
	o = sidetone(t, nil, "catalogue", "test", alone)
	isBadInput(t, o)
	require.Regexp(t, `^sidetone: `+regexp.QuoteMeta(alone)+`:\d+:\d+: `+regexp.QuoteMeta(fmt.Sprintf("products[0].traces[0]: cannot read %q: no such file (record it, or take it out)\n", missing))+`$`, o.stderr)
	require.NoError(t, os.MkdirAll(missing, 0o700))
	isBadInput(t, sidetone(t, nil, "catalogue", "test", alone), "products[0].traces[0]: ", "it is not a file")
	isBadInput(t, sidetone(t, nil, "catalogue", "test", "nothing.yaml"), "nothing.yaml")
	edit(t, trace, `"observe"`, `"observed"`)
	isBadInput(t, sidetone(t, nil, "catalogue", "test", catalogue), trace+":6: ", `unknown field "observed"`)

	without := acme(t, "    traces: [traces/headset-700-mute.jsonl]\n", "")
	o = sidetone(t, nil, "catalogue", "test", without)
	require.Equal(t, output{exitOK, without + ": in order; no product names traces\n", ""}, o)
}

// TestCatalogueTestOfTheCause: a message that must change nothing and does makes the same list as the one behind it.
func TestCatalogueTestOfTheCause(t *testing.T) {
	t.Parallel()
	catalogue, trace := vendor(t)
	good := read(t, trace)
	lines := strings.SplitAfter(good, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"t": "1.5s"`) })
	early := strings.Replace(lines[at], "1.5s", "1.2s", 1)
	require.NoError(t, os.WriteFile(trace, []byte(strings.Join(slices.Insert(lines, at, early), "")), 0o600))
	o := sidetone(t, nil, "catalogue", "test", catalogue)
	require.Equal(t, exitFailed, o.code)
	require.Equal(t, fmt.Sprintf("%s: 1 difference\nthe list in line %d comes after line %d, not after line %d\n", trace, at+3, at+1, at+2), o.stdout)
	require.Equal(t, exitOK, sidetone(t, nil, "catalogue", "test", "--update", catalogue).code)
	require.Equal(t, exitOK, sidetone(t, nil, "catalogue", "test", catalogue).code)
	require.NotEqual(t, good, read(t, trace))
}

// TestCatalogueTestUpdate rewrites lists, and nothing else.
func TestCatalogueTestUpdate(t *testing.T) {
	t.Parallel()
	catalogue, trace := vendor(t)
	good := read(t, trace)
	others := func(text string) (kept []string) {
		for line := range strings.Lines(text) {
			if !strings.Contains(line, `"list"`) {
				kept = append(kept, line)
			}
		}
		return kept
	}
	o := sidetone(t, nil, "catalogue", "test", "--update", catalogue)
	require.Equal(t, exitOK, o.code)
	require.Equal(t, good, read(t, trace), "what is right stays as it is")

	edit(t, catalogue, "name: Acme Headset 700", "name: Acme Headset 700 & more")
	o = sidetone(t, nil, "catalogue", "test", "--update", catalogue)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Contains(t, o.stdout, trace+": updated, 2 differences\nat 0s another list:\n")
	require.Contains(t, o.stdout, `: model recorded {"name":"Acme Headset 700","url":"https://acme.example/headset-700"}, replayed {"name":"Acme Headset 700 \u0026 more",`)
	require.Equal(t, exitOK, sidetone(t, nil, "catalogue", "test", catalogue).code)
	changed := read(t, trace)
	require.Equal(t, others(good), others(changed))
	require.Equal(t, strings.Count(good, "\n"), strings.Count(changed, "\n"))
	require.Contains(t, changed, `{"t":"6s","list":{"devices":[]}}`, "the last list keeps its line")
	info, err := os.Stat(trace)
	require.NoError(t, err)
	if runtime.GOOS != "windows" { // where files have no modes
		require.Equal(t, os.FileMode(0o640), info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(trace))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left behind")

	// From nothing, in the wrong places and in another spelling: the lists come where they belong.
	require.NoError(t, os.WriteFile(catalogue, examples.Acme, 0o600))
	bare := strings.TrimRight(strings.Join(others(good), ""), "\n")
	spelt := `{"list": {"devices": [ ]}, "t": "7s"}`
	misplaced := strings.Replace(bare, "\n\n", "\n"+spelt+"\n"+spelt+"\n\n", 1)
	for from, want := range map[string]string{
		bare:      good,
		misplaced: strings.Replace(good, `{"t":"6s","list":{"devices":[]}}`, spelt, 1),
	} {
		require.NoError(t, os.WriteFile(trace, []byte(from), 0o600))
		require.Equal(t, exitFailed, sidetone(t, nil, "catalogue", "test", catalogue).code)
		require.Equal(t, exitOK, sidetone(t, nil, "catalogue", "test", "--update", catalogue).code)
		require.Equal(t, strings.TrimRight(want, "\n"), strings.TrimRight(read(t, trace), "\n"))
	}
}

// TestReplayLists prints what a golden file would hold.
func TestReplayLists(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "replay", "--lists", "--catalogue", exampleCatalogue, exampleTrace)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Equal(t, 3, strings.Count(o.stdout, "\n"))
	for line := range strings.Lines(o.stdout) {
		var l struct {
			List struct{ Devices []json.RawMessage }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		require.NotNil(t, l.List.Devices)
	}
	require.Contains(t, o.stderr, "all as recorded")
}

// TestDocumentedRecords reads every example of the document, which has one of each kind.
func TestDocumentedRecords(t *testing.T) {
	t.Parallel()
	text := read(t, "../../docs/recording.md")
	kinds := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)`(\\{\"t\":[^`]+)`|^(\\{\"t\":.*)$").FindAllStringSubmatch(text, -1) {
		line := []byte(found[1] + found[2])
		var r engine.Record
		require.NoError(t, json.Unmarshal(line, &r), "%s", line)
		var members map[string]any
		require.NoError(t, json.Unmarshal(line, &members))
		for name := range members {
			kinds[name] = true
		}
	}
	for _, name := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		require.True(t, kinds[name[1]], name[1])
	}
	require.Len(t, kinds, 15, "t, and each kind")

	_, example, _ := strings.Cut(text, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	o := sidetone(t, nil, "replay", "--lists", "--catalogue", exampleCatalogue, write(t, "doc.jsonl", example))
	require.Equal(t, exitFailed, o.code, o.stderr)
	require.Contains(t, o.stderr, "replayed 3 inputs of 1m0s")
	require.Equal(t, []int{3, 1}, []int{strings.Count(o.stdout, `"list"`), strings.Count(o.stdout, `"hardware_mute":true`)}, o.stdout)
}
