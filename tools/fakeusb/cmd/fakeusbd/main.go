//go:build linux

// Fakeusbd emulates USB devices for other processes. It reads commands from standard input, one line of JSON each, and
// answers each with one line of JSON on standard output:
//
//	{"do":"plug","port":0,"device":{"kind":"headset","id":"1209:0700","name":"Acme Headset","serial":"A1","gain_control":true}}
//	{"do":"mute","port":0,"on":true}
//	{"do":"phone_mute","port":0,"on":true}
//	{"do":"unplug","port":0}
//
// See the types Command and Answer of package fakeusb. At the end of its input it pulls all devices out and exits; if it is
// killed, the kernel sees them vanish. It needs the kernel module vhci_hcd and write access to the controller's attach and
// detach files, which usually means root.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"sidetone/tools/fakeusb"
)

func main() {
	bench := fakeusb.NewBench()
	err := errors.Join(serve(bench.Do, os.Stdin, os.Stdout), bench.Close())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeusbd:", err)
		os.Exit(1)
	}
}

// serve answers commands until in ends.
func serve(do func(fakeusb.Command) fakeusb.Answer, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := answers.Encode(answer(do, lines.Bytes())); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read a command: %w", err)
	}
	return nil
}

func answer(do func(fakeusb.Command) fakeusb.Answer, line []byte) fakeusb.Answer {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var command fakeusb.Command
	if err := decoder.Decode(&command); err != nil {
		return fakeusb.Answer{Error: fmt.Sprintf("command %.80q: %v", line, err)}
	}
	return do(command)
}
