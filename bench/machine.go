//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// machine describes what the figures were measured on. It names no host and no path.
func machine(servers map[string]string, before, after string) []string {
	lines := []string{
		fmt.Sprintf("CPU: %s, %d cores", keyed("/proc/cpuinfo", ":", "model name"), runtime.NumCPU()),
		"Kernel: Linux " + firstLine("/proc/sys/kernel/osrelease"),
		"OS: " + strings.Trim(keyed("/etc/os-release", "=", "PRETTY_NAME"), `"`),
		fmt.Sprintf("Go: %s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
	for _, kind := range slices.Sorted(maps.Keys(servers)) {
		lines = append(lines, "Sound server: "+servers[kind])
	}
	return append(lines, fmt.Sprintf("Load average over 1, 5 and 15 minutes: %s before the run, %s after it", before, after))
}

// loadAverage tells how busy the machine is with other things.
func loadAverage() string {
	f := strings.Fields(firstLine("/proc/loadavg"))
	if len(f) < 3 {
		return "unknown"
	}
	return strings.Join(f[:3], " ")
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// keyed returns the value of the first line of a file that has the key.
func keyed(path, separator, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		k, v, _ := strings.Cut(lines.Text(), separator)
		if strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
