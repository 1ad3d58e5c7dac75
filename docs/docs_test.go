// Package docs holds what there is to read, and a test that it speaks of what there is.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
	"sidetone/internal/health"
)

// tree is what the pages may speak of.
type tree struct {
	paths    map[string]bool            // files and folders, from the root
	names    map[string]bool            // of files, without their folders
	tests    map[string]bool            // functions that go test runs
	words    map[string]map[string]bool // identifiers in the Go files of a package that are no tests, by the name of its folder
	programs map[string]string          // the sources of programs, by name
	sources  map[string]string          // the Go files that are no tests, by path
	makefile string
}

// elsewhere are files that pages speak of and that are a user's, another program's, or a vendor's.
var elsewhere = []string{"acme-agent.brand.yaml", "acme-agent.defaults.yaml", "acme-agent.policy.yaml", "app/com.discordapp.Discord", "report.html", "sidetone-report.html"}

// folders in which a path in the text may begin, beside the root and the page's own.
var folders = []string{"internal", "internal/platform", "internal/platform/audio", "docs"}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)

func readTree(t *testing.T) *tree {
	t.Helper()
	x := &tree{
		paths: map[string]bool{}, names: map[string]bool{}, tests: map[string]bool{}, words: map[string]map[string]bool{},
		programs: map[string]string{}, sources: map[string]string{},
	}
	programOf := map[string]string{"cmd/agent": "sidetone", "fakeserver/cmd/fakeserver": "fakeserver"}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", ".run"}, d.Name()) {
			return fs.SkipDir // what was built here is not what the repository has
		}
		at := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		x.paths[at], x.names[d.Name()] = true, true
		if d.IsDir() || filepath.Ext(at) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(at, "_test.go") {
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				x.tests[string(m[1])] = true
			}
			return err
		}
		x.sources[at] = string(text)
		folder := filepath.ToSlash(filepath.Dir(at))
		if name, ok := programOf[folder]; ok {
			x.programs[name] += string(text)
		}
		if x.words[filepath.Base(folder)] == nil {
			x.words[filepath.Base(folder)] = map[string]bool{}
		}
		for w := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			x.words[filepath.Base(folder)][w] = true
		}
		return err
	}))
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	x.makefile = string(makefile)
	return x
}

var (
	fence       = regexp.MustCompile("(?ms)^```.*?^```$")
	command     = regexp.MustCompile(`(?m)^(?:\$ )?(?:bin/)?((?:make|sidetone|fakeserver) [^|>&#\n]*)`)
	quoted      = regexp.MustCompile("`([^`\n]+)`")
	makeTarget  = regexp.MustCompile(`^make ([a-z-]+)`)
	testName    = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)\w*$`)
	program     = regexp.MustCompile(`^(sidetone|fakeserver)((?: [a-z][a-z-]*)*)(?: |$)`)
	flag        = regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)
	fileName    = regexp.MustCompile(`^[A-Za-z0-9.-][\w.-]*\.(?:go|md|yaml|sh|json|jsonl|txt|html|zip)$`)
	filePath    = regexp.MustCompile(`^\.?[\w-][\w.-]*(?:/[\w.-]+)+/?$`)
	placed      = regexp.MustCompile("`([A-Za-z]\\w*)`\\s+(?:in|of)\\s+`([\\w/-]+\\.go)`")
	member      = regexp.MustCompile(`^([A-Z]\w*)\.(\w+)$`)
	placeholder = regexp.MustCompile(`\b(?:NAME|SUBJECT|GOOS|LANGUAGE)`)
	setting     = regexp.MustCompile(`^(?:rpc|report|sources|push|engine|control|log)\.[a-z_]+$`)
	identifier  = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*)(?:\.(\w+))?(?:\(.*\))?$`)
)

// fault says what a quoted piece of text speaks of and is not there; "" if nothing.
func (x *tree) fault(quote string) string {
	if m := makeTarget.FindStringSubmatch(quote); m != nil && !strings.Contains(x.makefile, "\n"+m[1]+":") {
		return "no such target in the Makefile"
	}
	if testName.MatchString(quote) && !x.tests[quote] {
		return "no such test"
	}
	missing := fileName.MatchString(quote) && !x.names[quote] || filePath.MatchString(quote) && x.ours(quote) && !x.exists(quote)
	if missing && !placeholder.MatchString(quote) && !slices.Contains(elsewhere, quote) {
		return "no such file"
	}
	if setting.MatchString(quote) && !x.isSetting(quote) && !fileName.MatchString(quote) {
		return "no such setting or condition"
	}
	if m := identifier.FindStringSubmatch(quote); m != nil && x.words[m[1]] != nil {
		for _, name := range m[2:] {
			if name != "" && !x.words[m[1]][name] {
				return "no such name in the package " + m[1]
			}
		}
	}
	if m := member.FindStringSubmatch(quote); m != nil && !fileName.MatchString(quote) && !x.hasMember(m[1], m[2]) {
		return "no such method or field"
	}
	return x.commandFault(quote)
}

// commandFault says which verb or flag of one of our programs is not there.
func (x *tree) commandFault(quote string) string {
	sources := x.programs["sidetone"] + x.programs["fakeserver"]
	if m := program.FindStringSubmatch(quote); m != nil {
		sources = x.programs[m[1]]
		verbs := strings.Fields(m[2])
		for i, verb := range verbs[:min(2, len(verbs))] {
			if i == 0 && !regexp.MustCompile(`Use: +"`+verb+`[ "]`).MatchString(sources) && verb != "help" && verb != "completion" {
				return "no such verb: " + verb
			}
		}
	} else if !strings.HasPrefix(quote, "--") {
		return "" // of another program
	}
	for _, m := range flag.FindAllStringSubmatch(quote, -1) {
		isSetting := slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Flag == m[1] })
		if !isSetting && !strings.Contains(sources, `"`+m[1]+`"`) && m[1] != "help" {
			return "no such flag: --" + m[1]
		}
	}
	return ""
}

// ours reports whether a path begins in a folder of the repository.
func (x *tree) ours(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return x.exists(first)
}

func (x *tree) exists(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return x.paths[path] || slices.ContainsFunc(folders, func(in string) bool { return x.paths[in+"/"+path] })
}

// has reports whether a Go file with that name, or at the end of whose path it is, has an identifier.
func (x *tree) has(file, name string) bool {
	word := regexp.MustCompile(`\b` + name + `\b`)
	for path, text := range x.sources {
		if strings.HasSuffix("/"+path, "/"+file) && word.MatchString(text) {
			return true
		}
	}
	return false
}

// hasMember reports whether a type has a method or, if it is a struct, a field.
func (x *tree) hasMember(typ, name string) bool {
	isMember := regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?` + typ + `(?:\[\w+\])?\) ` + name + `\(` +
		`|^type ` + typ + ` struct \{\n(?:[^}].*\n|\n)*?\t[\w, ]*\b` + name + `\b`)
	for _, text := range x.sources {
		if isMember.MatchString(text) {
			return true
		}
	}
	return false
}

func (x *tree) isSetting(path string) bool {
	return health.English.Has(health.Code(path)) || slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Path == path })
}

// TestPagesSpeakOfWhatThereIs: each file, test, target of make, setting, flag, verb and Go name that a page has in
// backticks exists, and so do the verbs and flags of its examples.
func TestPagesSpeakOfWhatThereIs(t *testing.T) {
	x := readTree(t)
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		said := quoted.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1)
		for _, block := range fence.FindAllString(string(text), -1) {
			said = append(said, command.FindAllStringSubmatch(block, -1)...)
		}
		for _, m := range placed.FindAllStringSubmatch(string(text), -1) {
			if !x.has(m[2], m[1]) {
				t.Errorf("%s: `%s` is not in `%s`", filepath.Base(page), m[1], m[2])
			}
		}
		for _, m := range said {
			if fault := x.fault(m[1]); fault != "" {
				t.Errorf("%s: `%s`: %s", filepath.Base(page), m[1], fault)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	slug    = strings.NewReplacer(" ", "-", "`", "", "'", "", "?", "", ":", "", ",", "", ".", "", "+", "", "(", "", ")", "", "/", "", "&", "")
)

// TestLinksLead: each link from one page to a file of the repository, or to a heading of a page, leads there, and README.md leads to each
// page.
func TestLinksLead(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	read := func(page string) string {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		return fence.ReplaceAllString(string(text), "")
	}
	_, index, found := strings.Cut(read("../README.md"), "\n## What to read, in this order\n")
	require.True(t, found)
	for _, page := range pages {
		require.Contains(t, index, "](docs/"+page+")", "the list of what to read")
	}
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		for _, m := range link.FindAllStringSubmatch(read(page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			} else if anchor != "" && !slices.ContainsFunc(heading.FindAllStringSubmatch(read(to), -1), func(h []string) bool {
				return strings.ToLower(slug.Replace(h[1])) == anchor
			}) {
				t.Errorf("%s: the link %s leads to no heading", page, m[1])
			}
		}
	}
}

// TestMissingThingsAreFound: the test above is no use if it finds nothing.
func TestMissingThingsAreFound(t *testing.T) {
	x := readTree(t)
	for quote, want := range map[string]string{
		"make nothing": "no such target in the Makefile", "make test": "",
		"TestNothing": "no such test", "TestPagesSpeakOfWhatThereIs": "",
		"nothing.go": "no such file", "internal/nothing": "no such file", "platform/audio": "",
		"config.go": "", "/etc/passwd": "", "text/plain": "",
		"rpc.nothing": "no such setting or condition", "rpc.tokens": "", "sources.works": "",
		"Client.nothing": "no such method or field", "Audio.List": "no such method or field", "Client.mu": "", "SourceKind.compile": "",
		"devices.NoSuchThing": "no such name in the package devices", "devices.Diff": "",
		"sidetone nothing": "no such verb: nothing", "sidetone catalogue test FILE": "", "sidetone run --nothing": "no such flag: --nothing",
		"--rpc-ports": "", "--nothing": "no such flag: --nothing", "curl --nothing": "",
	} {
		require.Equal(t, want, x.fault(quote), quote)
	}
	require.True(t, x.has("app/ending.go", "endAs"))
	require.False(t, x.has("internal/app/locks.go", "endAs"))
}
