//go:build man

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra/doc"
)

// A program that is built with the tag man writes the man pages of all verbs into the folder that is its only argument. It does not ship.
func init() {
	root := newCommand(os.Stdin, os.Stdout, os.Stderr)
	root.DisableAutoGenTag = true
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	at := time.Unix(seconds, 0).UTC()
	if err == nil && len(os.Args) == 2 {
		err = doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &at, Source: "fakeserver", Manual: "User commands"}, os.Args[1])
	}
	if err != nil || len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "want a folder, and SOURCE_DATE_EPOCH:", err)
		os.Exit(exitUsage)
	}
	os.Exit(exitOK)
}
