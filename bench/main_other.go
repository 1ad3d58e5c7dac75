//go:build !linux

// Command bench measures the agent; see bench/RESULTS.md.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: it needs Linux: its sound servers and its readings of processes are there only")
	os.Exit(1)
}
