//go:build !linux

// Command foreignclient runs on Linux only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "foreignclient runs on Linux only")
	os.Exit(2)
}
