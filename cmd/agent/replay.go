package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/engine"
)

func replayCommand() *cobra.Command {
	var catalogue string
	var lists bool
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay a recording and compare what is reported",
		Long: `Plays a recording (docs/recording.md) without its waits, with no device and no client, and compares
the resulting lists with those of the recording. FILE - is standard input.

--catalogue replaces the recorded catalogue; the differences are what it would have changed. A
recording that was written by hand needs it.

--lists prints the lists of the replay, one line of JSON for each, and the verdict to standard error.

Exit codes: 0 all lists are as recorded; 1 some are not; 2 the recording or the catalogue is wrong.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if lists && wantsJSON(cmd) {
				return badInput(errors.New("--lists and --json: want one of them"))
			}
			set, err := replaySettings(catalogue)
			if err != nil {
				return err
			}
			file, err := openInterruptible(cmd.Context(), args[0])
			if err != nil {
				return badInput(err)
			}
			defer file.Close()
			begin := time.Now()
			r, err := replay(cmd.ErrOrStderr(), args[0], file, engine.NewPlayer(set, catalogue != ""), func(int, engine.Record, engine.Replayed) {})
			if err != nil {
				return badFile(err)
			}
			v := verdict{
				File: args[0], Inputs: r.Inputs, Length: r.Length, Took: engine.Span(time.Since(begin)),
				Lists: len(r.Lists), Exact: r.Exact, Cut: r.Cut, Differences: r.Differences(),
			}
			return failedIf(len(v.Differences) > 0, v.print(cmd, r, lists))
		},
	}
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "catalogue to replay with, instead of the recorded one")
	cmd.Flags().BoolVar(&lists, "lists", false, "print the resulting lists, as lines of JSON")
	return withJSON(cmd)
}

// replaySettings returns the settings for a recording that has none: the defaults with the catalogue, or nothing without one.
func replaySettings(file string) (engine.Settings, error) {
	if file == "" {
		return engine.Settings{}, nil
	}
	cat, problems, err := catalogue.Load(file)
	if err := app.Input(problems, err); err != nil {
		return engine.Settings{}, err
	}
	return defaultSettings(cat)
}

func defaultSettings(cat *catalogue.Catalogue) (engine.Settings, error) {
	return app.NewSettings(config.Default(), cat).Engine()
}

// replay plays a file to its end, and calls seen after each record with what has come of it so far. Errors name the line.
func replay(
	messages io.Writer, name string, file io.Reader, p *engine.Player,
	seen func(line int, r engine.Record, so engine.Replayed),
) (engine.Replayed, error) {
	torn, err := readRecords(name, file, func(line int, r engine.Record) error {
		if err := p.Play(r); err != nil {
			return err
		}
		so, _ := p.Result() // the error is reported at the end
		seen(line, r, so)
		return nil
	})
	if errors.Is(err, engine.ErrNoSettings) {
		err = fmt.Errorf("%w, with --catalogue FILE", err)
	}
	if err != nil {
		return engine.Replayed{}, err
	}
	r, err := p.Result()
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if torn > 0 {
		fmt.Fprintf(messages, "%s: %s:%d: the last line is not whole: left out\n", programName(), name, torn)
	}
	if r.Cut != "" {
		fmt.Fprintf(messages, "%s: %s ends before its time: %s; what is there was replayed\n", programName(), name, printable(r.Cut))
	}
	return r, nil
}

// maxRecord bounds a line of a recording, in bytes.
const maxRecord = 16 << 20

// readRecords calls on with every record of a file and its line number. Empty lines and those that begin
// with # are skipped. torn is the number of an incomplete last line, or 0.
func readRecords(name string, file io.Reader, on func(line int, r engine.Record) error) (torn int, err error) {
	open := false // the line is incomplete
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxRecord)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		open = atEOF && !bytes.Contains(data, []byte("\n"))
		return bufio.ScanLines(data, atEOF)
	})
	n, begun := 1, false
	for ; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		var r engine.Record
		err := json.Unmarshal(text, &r)
		if err != nil && !json.Valid(text) {
			switch {
			case !begun:
				err = errors.New("this is not a recording: want lines of JSON")
			case open:
				return n, nil
			}
		}
		begun = true
		if err == nil {
			err = on(n, r)
		}
		if err != nil {
			return 0, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return 0, fmt.Errorf("%s:%d: a line of more than %d bytes: this is no recording", name, n, maxRecord)
	case err != nil:
		return 0, fmt.Errorf("%s: cannot read: %w", name, err)
	}
	return 0, nil
}

// verdict is the JSON of a replay.
type verdict struct {
	File        string              `json:"file"`
	Inputs      int                 `json:"inputs"`
	Length      engine.Span         `json:"length"` // of the recording
	Took        engine.Span         `json:"took"`
	Lists       int                 `json:"lists"` // that the replay published
	Exact       bool                `json:"exact"` // times and generations were compared, too
	Cut         string              `json:"cut,omitempty"`
	Differences []engine.Difference `json:"differences"`
}

func (v verdict) print(cmd *cobra.Command, r engine.Replayed, lists bool) error {
	switch {
	case wantsJSON(cmd):
		v.Differences = append([]engine.Difference{}, v.Differences...)
		return printJSON(cmd.OutOrStdout(), v)
	case !lists:
		v.printText(cmd.OutOrStdout())
		return nil
	}
	v.printText(cmd.ErrOrStderr())
	out := json.NewEncoder(cmd.OutOrStdout())
	for _, l := range r.Lists {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

func (v verdict) printText(w io.Writer) {
	length, took := time.Duration(v.Length), time.Duration(v.Took)
	says := "all as recorded"
	if n := len(v.Differences); n > 0 {
		says = count(n, "difference") + " to the recording"
	}
	fmt.Fprintf(w, "replayed %s of %v in %.3g s (%d x real time): %s, %s\n",
		count(v.Inputs, "input"), rounded(length), took.Seconds(), int64(length/max(1, took)), count(v.Lists, "list"), says)
	printDifferences(w, v.Differences)
}

// printDifferences prints the first few.
func printDifferences(w io.Writer, all []engine.Difference) {
	const enough = 5
	for i, d := range all {
		if i == enough {
			fmt.Fprintf(w, "and %d more\n", len(all)-enough)
			return
		}
		for line := range strings.Lines(d.String()) {
			fmt.Fprintln(w, printable(strings.TrimSuffix(line, "\n")))
		}
	}
}
