//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used so far.
type usage struct {
	switches int           // context switches of all its threads, voluntary and not
	cpu      time.Duration // time on a CPU of all its threads, to the nanosecond
	rss      int64         // resident memory now, in bytes
	files    int64         // of which pages of files, such as the program's own and libraries
	read     int64         // bytes that it has read, from whatever
	reads    int           // and how many calls that took
}

// readUsage reads a process from /proc. Threads that have ended do not count.
func readUsage(pid int) (usage, error) {
	var u usage
	base := filepath.Join("/proc", strconv.Itoa(pid))
	threads, err := os.ReadDir(filepath.Join(base, "task"))
	if err != nil {
		return u, fmt.Errorf("read the threads of process %d: %w", pid, err)
	}
	for _, t := range threads {
		dir := filepath.Join(base, "task", t.Name())
		status, err := fields(filepath.Join(dir, "status"))
		if err != nil {
			return u, err
		}
		u.switches += number(status["voluntary_ctxt_switches"]) + number(status["nonvoluntary_ctxt_switches"])
		ran, err := onCPU(filepath.Join(dir, "schedstat"))
		if err != nil {
			return u, err
		}
		u.cpu += ran
	}
	status, err := fields(filepath.Join(base, "status"))
	if err != nil {
		return u, err
	}
	u.rss, u.files = int64(number(status["VmRSS"]))<<10, int64(number(status["RssFile"]))<<10
	io, err := fields(filepath.Join(base, "io"))
	if err != nil {
		return u, err
	}
	u.read, u.reads = int64(number(io["rchar"])), number(io["syscr"])
	if u.rss == 0 {
		return u, fmt.Errorf("process %d has no resident memory: it has ended", pid)
	}
	return u, nil
}

// fields reads a file of lines "Name: value".
func fields(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the state of a process: %w", err)
	}
	m := make(map[string]string)
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok {
			m[k] = strings.TrimSpace(v)
		}
	}
	return m, nil
}

// number reads the number at the start of a value such as "5132 kB".
func number(s string) int {
	f := strings.Fields(s)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(f[0])
	return n
}

// onCPU reads the first number of a schedstat file: nanoseconds on a CPU.
func onCPU(path string) (time.Duration, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a thread: %w", err)
	}
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return 0, fmt.Errorf("read the CPU time of a thread: %s is empty", path)
	}
	ns, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a thread: %w", err)
	}
	return time.Duration(ns), nil
}
