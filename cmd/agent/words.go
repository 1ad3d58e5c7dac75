package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// count is n of the things that are called one: "1 product", "2 products".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// line writes one line, in which nothing acts on a terminal.
func line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, printable(fmt.Sprintf(format, args...)))
}

// row writes one line of a table, in which nothing acts on a terminal or on the table.
func row(t *tabwriter.Writer, cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}
