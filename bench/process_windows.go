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
	// proc is Linux' /proc, as a Windows program sees it under Wine.
	proc           = `Z:\proc`
	terminatedCode = 1 // of a program that was killed: there is no other way to end it
	// afterStart is how long the agent is busy after its start: miniaudio lists in a process of its own, which Wine starts slowly.
	afterStart = 3 * time.Second
)

// terminated ends the bench itself.
var terminated = os.Interrupt

func (c *child) terminate() { _ = c.cmd.Process.Kill() }

// pid is the process's number on Linux: it finds the process by its name and arguments, of which the last is unique to this bench.
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

// controlName ends the name of the agent's own pipe, after the common beginning of all.
const controlName = "-agent"

// socketFolder returns the beginning of the names of new pipes.
func socketFolder(string) (string, error) { return `\\.\pipe\sidetone-bench-` + rand.Text(), nil }
