package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CGO     bool   `json:"cgo"` // false: miniaudio is not part of this build
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisVersion())
			}
			printVersion(cmd.OutOrStdout())
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func thisVersion() versionInfo {
	return versionInfo{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, builtWithCGO()}
}

func printVersion(w io.Writer) {
	v := thisVersion()
	fmt.Fprintf(w, "sidetone %s (%s, %s/%s, cgo %t)\n", v.Version, v.Go, v.OS, v.Arch, v.CGO)
}

func builtWithCGO() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "CGO_ENABLED" {
			return s.Value == "1"
		}
	}
	return false
}
