//go:build linux || windows

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// machine describes the machine without naming host or paths.
func machine(servers map[string]string, before, after string) []string {
	lines := []string{
		fmt.Sprintf("CPU: %s, %d cores", valueIn(proc+"/cpuinfo", ":", "model name"), runtime.NumCPU()),
		"Kernel: Linux " + contents(proc+"/sys/kernel/osrelease"),
		"OS: " + strings.Trim(valueIn("/etc/os-release", "=", "PRETTY_NAME"), `"`),
		fmt.Sprintf("Go: %s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
	for _, kind := range slices.Sorted(maps.Keys(servers)) {
		lines = append(lines, "Sound server: "+servers[kind])
	}
	return append(lines, fmt.Sprintf("Load average over 1, 5 and 15 minutes: %s before the run, %s after it", before, after))
}

func loadAverage() string {
	return strings.Join(strings.Fields(contents(proc+"/loadavg") + " ? ?")[:3], " ")
}

func valueIn(path, separator, key string) string {
	values, _ := fields(path, separator) // what cannot be read is unknown
	return cmp.Or(values[key], "unknown")
}

func contents(path string) string {
	b, _ := os.ReadFile(path)
	return cmp.Or(strings.TrimSpace(string(b)), "unknown")
}
