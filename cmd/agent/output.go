package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"
)

// answer is standard output. Verbs need not look whether it takes what they print: the first failure
// is kept, and ends a verb that would go on.
type answer struct {
	io.Writer
	stop func()
	err  error
}

func (a *answer) Write(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.Writer.Write(p)
	if a.err = err; err != nil {
		a.stop()
	}
	return n, err
}

// failure replaces what came of a verb by what kept its answer from being written. A reader that has
// seen enough, as head has, needs no words.
func (a *answer) failure(err error) error {
	if a.err == nil {
		return err
	}
	if errors.Is(a.err, syscall.EPIPE) {
		return exitCode(exitFailed)
	}
	reason := a.err
	if at, ok := errors.AsType[*fs.PathError](reason); ok {
		reason = at.Err
	}
	return fmt.Errorf("cannot write the answer: %w", reason)
}

func jsonFlag(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable replaces what could act on a terminal: names come from devices and other programs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
