package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/engine"
	"sidetone/internal/platform/files"
	"sidetone/internal/strictyaml"
)

func catalogueTestCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Replay the traces that catalogues name, and compare what is reported",
		Long: `Checks each catalogue, then replays with it the recordings that its products name under 'traces',
and compares the resulting lists with those of the recording (docs/recording.md). Their content and
order count, not their times.

--update writes the resulting lists to the traces. All other lines stay as they are.

Exit codes: 0 all are as recorded, or there are no traces; 1 some are not; 2 a catalogue or a trace is
wrong.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			code := exitOK
			for _, path := range files {
				files, err := catalogue.Files(path) // traces are relative to the catalogue that names them
				if err != nil {
					return badInput(err)
				}
				for _, file := range files {
					code = max(code, testCatalogue(cmd, file, update))
				}
			}
			if code != exitOK {
				return exitCode(code)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "rewrite the lists of the traces")
	return cmd
}

// testCatalogue tests one catalogue and returns the exit code.
func testCatalogue(cmd *cobra.Command, file string, update bool) int {
	refuse := func(err error) int {
		printError(cmd.ErrOrStderr(), err)
		return exitBadInput
	}
	cat, problems, err := catalogue.Load(file)
	if err := app.Input(problems, err); err != nil {
		return refuse(err)
	}
	set, err := defaultSettings(cat)
	if err != nil {
		return refuse(err)
	}
	traces := tracesOf(cat)
	if len(traces) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: in order; no product names traces\n", file)
	}
	code := exitOK
	for _, named := range traces {
		t, err := playTrace(cmd, filepath.Join(filepath.Dir(file), filepath.FromSlash(named.file)), set)
		if unread, ok := errors.AsType[*fs.PathError](err); ok {
			err = traceReadError(file, named.path, unread)
		}
		if err != nil {
			code = refuse(err)
			continue
		}
		differences, displaced := t.Differences(), t.displaced()
		switch n := len(differences) + len(displaced); {
		case n == 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s, %s\n", t.path, count(t.Inputs, "input"), count(len(t.Lists), "list"))
			continue
		case update:
			if err := t.update(); err != nil {
				return refuse(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: updated, %s\n", t.path, count(n, "difference"))
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", t.path, count(n, "difference"))
			code = max(code, exitFailed)
		}
		printDifferences(cmd.OutOrStdout(), differences)
		for _, text := range displaced {
			fmt.Fprintln(cmd.OutOrStdout(), text)
		}
	}
	return code
}

// namedTrace is a trace listed in a catalogue.
type namedTrace struct{ path, file string } // path: within the catalogue

// tracesOf returns the traces of all products, each once.
func tracesOf(cat *catalogue.Catalogue) []namedTrace {
	var all []namedTrace
	for p, product := range cat.Products {
		for i, file := range product.Traces {
			if !slices.ContainsFunc(all, func(t namedTrace) bool { return t.file == file }) {
				all = append(all, namedTrace{fmt.Sprintf("products[%d].traces[%d]", p, i), file})
			}
		}
	}
	return all
}

// traceReadError describes, with its place in the catalogue, a trace that cannot be read.
func traceReadError(file, path string, err *fs.PathError) error {
	text, unread := strictyaml.ReadFile(file)
	if unread != nil {
		return unread
	}
	doc, _ := strictyaml.Decode(file, text, &catalogue.Catalogue{})
	reason, hint := err.Err.Error(), ""
	if errors.Is(err, fs.ErrNotExist) {
		reason, hint = "no such file", "record it, or take it out"
	}
	p := doc.Problem("$."+path, fmt.Sprintf("%s: cannot read %q: %s", path, err.Path, reason), hint)
	p.Text = "" // it is in the path
	return errors.New(p.String())
}

// trace is a recording replayed with a catalogue.
type trace struct {
	engine.Replayed
	path     string
	text     []byte
	byHand   bool
	recorded []int // line number, from 1, of each list in the recording
	behind   []int // line number of the last record in front of it that is no list
	cause    []int // line number after which each list of the replay belongs
}

func playTrace(cmd *cobra.Command, path string, set engine.Settings) (*trace, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file")}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &trace{path: path, text: text}
	before := 0 // line number of the last record that is no list
	player := engine.NewPlayer(set, true)
	t.Replayed, err = replay(cmd.ErrOrStderr(), path, bytes.NewReader(text), player, func(line int, r engine.Record, so engine.Replayed) {
		switch {
		case r.Header != nil:
			t.byHand = !r.Header.Ticks
		case r.List != nil:
			t.recorded, t.behind = append(t.recorded, line), append(t.behind, before)
		}
		for _, list := range so.Lists[len(t.cause):] {
			if list.T < r.T || r.List != nil {
				t.cause = append(t.cause, before)
			} else {
				t.cause = append(t.cause, line)
			}
		}
		if r.List == nil {
			before = line
		}
	})
	return t, err
}

// displaced names the lists of a trace that was written by hand which come, but after another record than the one in front of them: a
// message that must change nothing has made the list of the next one, for example.
func (t *trace) displaced() (all []string) {
	for _, p := range t.Pairs() {
		if !t.byHand || !t.Same(p) || t.behind[p.Recorded] == t.cause[p.List] {
			continue
		}
		all = append(all, fmt.Sprintf("the list in line %d comes after line %d, not after line %d",
			t.recorded[p.Recorded], t.cause[p.List], t.behind[p.Recorded]))
	}
	return all
}

// update replaces the lists in the file with those of the replay. Unchanged lines are kept byte for byte.
func (t *trace) update() error {
	lines := bytes.SplitAfter(t.text, []byte("\n"))
	line := func(number int) []byte { return bytes.TrimSuffix(lines[number-1], []byte("\n")) }
	behind := make(map[int][][]byte)
	for _, p := range t.Pairs() {
		if p.List < 0 {
			continue
		}
		text, err := t.line(t.Lists[p.List])
		if err != nil {
			return err
		}
		if t.Same(p) {
			text = line(t.recorded[p.Recorded])
		}
		behind[t.cause[p.List]] = append(behind[t.cause[p.List]], text)
	}
	var out bytes.Buffer
	for i, text := range lines {
		if !slices.Contains(t.recorded, i+1) {
			out.Write(text)
		}
		for _, list := range behind[i+1] {
			if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
				out.WriteByte('\n')
			}
			out.Write(append(list, '\n'))
		}
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return err
	}
	return files.Replace(t.path, out.Bytes(), info.Mode().Perm())
}

// line returns a list as a line of the trace.
func (t *trace) line(r engine.Record) ([]byte, error) {
	if t.byHand {
		r.List = &engine.List{Devices: r.List.Devices}
	}
	return json.Marshal(r)
}
