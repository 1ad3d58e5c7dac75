package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CGO     bool   `json:"cgo"`   // on Linux, false: miniaudio is not part of this build
	Audio   string `json:"audio"` // what lists the audio endpoints, for people
}

func versionCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return respond(cmd, thisVersion(), printVersion)
		},
	})
}

func thisVersion() versionInfo {
	cgo := builtWithCGO()
	return versionInfo{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, cgo, listedBy(runtime.GOOS, cgo)}
}

func printVersion(w io.Writer) error {
	v := thisVersion()
	_, err := fmt.Fprintf(w, "%s %s (%s, %s/%s, audio: %s)\n", programName(), v.Version, v.Go, v.OS, v.Arch, v.Audio)
	return err
}

// listedBy says what lists the audio endpoints of a system; on Linux in builds with cgo also ALSA, where there is no sound server.
func listedBy(system string, cgo bool) string {
	switch {
	case system == "linux" && cgo:
		return "PulseAudio, or ALSA by miniaudio"
	case system == "linux":
		return "PulseAudio"
	case system == "windows":
		return "Core Audio"
	default:
		return "none"
	}
}

func builtWithCGO() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"})
}
