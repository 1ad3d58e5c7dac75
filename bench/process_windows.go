package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// proc is where Linux tells of processes, as a Windows program sees it under Wine.
	proc           = `Z:\proc`
	terminatedCode = 1 // of a program that was ended: there is no other way
	// afterStart is as long as the agent is busy after its start: miniaudio lists in a process of its own, which Wine starts slowly.
	afterStart = 3 * time.Second
)

// terminated is what the bench itself is ended by.
var terminated = os.Interrupt

func (c *child) terminate() { _ = c.cmd.Process.Kill() }

// pid is the number that Linux knows the process by: that of whatever has the same name and arguments, the last of which is of this bench
// alone.
func (c *child) pid() (int, error) {
	processes, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	words := append([]string{filepath.Base(c.cmd.Args[0])}, c.cmd.Args[1:]...)
	marker := strings.Join(words, "\x00") + "\x00"
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(proc, p.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), marker) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process of Linux is the %s; its last words:\n%s", c.name, c.tail())
}

// controlName follows the beginning of the names of pipes in that of the agent's own, which no folder has.
const controlName = "-agent"

// socketFolder is the beginning of the names of new pipes.
func socketFolder(string) (string, error) { return `\\.\pipe\sidetone-bench-` + rand.Text(), nil }
