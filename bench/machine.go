//go:build linux || windows

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

type usage struct {
	switches int   // context switches of all its threads, voluntary and not
	rss      int64 // resident memory now, in bytes
	files    int64 // the part of rss that is pages of files, such as the program and its libraries
}

// readUsage reads the usage of a process from /proc. Threads that have ended do not count.
func readUsage(pid int) (usage, error) {
	var u usage
	base := fmt.Sprintf("%s/%d", proc, pid)
	threads, err := filepath.Glob(base + "/task/*")
	if err != nil {
		return u, err
	}
	for _, thread := range threads {
		status, err := fields(thread+"/status", ":")
		if err != nil {
			return u, err
		}
		u.switches += int(number(status["voluntary_ctxt_switches"]) + number(status["nonvoluntary_ctxt_switches"]))
	}
	status, err := fields(base+"/status", ":")
	if err != nil {
		return u, err
	}
	u.rss, u.files = number(status["VmRSS"])<<10, number(status["RssFile"])<<10
	if u.rss == 0 {
		return u, fmt.Errorf("process %d has no resident memory: it has ended", pid)
	}
	return u, nil
}

// memory shows resident memory, and how much of it other processes may share.
func (u usage) memory() string { return fmt.Sprintf("%s, %s of it files", mib(u.rss), mib(u.files)) }

// fields reads a file of lines "key: value", or with another separator. The first of equal keys counts.
func fields(path, separator string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a system file: %w", err)
	}
	m := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, separator)
		key = strings.TrimSpace(key)
		if _, known := m[key]; !known {
			m[key] = strings.TrimSpace(value)
		}
	}
	return m, nil
}

// number reads the number at the start of a value such as "5132 kB"; 0 if there is none.
func number(s string) (n int64) {
	_, _ = fmt.Sscan(s, &n)
	return n
}
