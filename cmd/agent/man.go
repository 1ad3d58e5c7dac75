//go:build man

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra/doc"
)

// A program built with the tag man writes the man pages of all verbs, under its brand's name, into the folder that is its only argument. It
// does not ship: the generator is larger than the program that it documents.
func init() {
	root := rootCommand(io.Discard)
	root.DisableAutoGenTag = true
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	at := time.Unix(seconds, 0).UTC()
	if err == nil && len(os.Args) == 2 {
		header := &doc.GenManHeader{Section: "1", Date: &at, Source: programName() + " " + version, Manual: "User commands"}
		err = doc.GenManTree(root, header, os.Args[1])
	}
	if err != nil || len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "want a folder, and SOURCE_DATE_EPOCH:", err)
		os.Exit(exitBadInput)
	}
	os.Exit(exitOK)
}
