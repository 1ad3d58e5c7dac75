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

// answer is standard output. Verbs need not check for write errors: it keeps the first one, and stops the verb.
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

// failure replaces the result of a verb by the error of writing its output, if there was one. A reader that
// has closed the pipe, as head does, needs no message.
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

// withJSON adds --json to a verb.
func withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// respond prints v as JSON if --json was given, or else as text.
func respond(cmd *cobra.Command, v any, printText func(io.Writer) error) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), v)
	}
	return printText(cmd.OutOrStdout())
}

// failedIf returns err or, if there is none, exit code 1 if the answer is no.
func failedIf(no bool, err error) error {
	if err == nil && no {
		return exitCode(exitFailed)
	}
	return err
}

// wantsJSON reports whether --json was given.
func wantsJSON(cmd *cobra.Command) bool { return cmd.Flag("json").Value.String() == "true" }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable replaces control characters, since names come from devices and other programs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
