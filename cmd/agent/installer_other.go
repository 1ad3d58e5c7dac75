//go:build !windows

package main

import "github.com/spf13/cobra"

// installerCommands are for Windows alone.
func installerCommands() []*cobra.Command { return nil }
