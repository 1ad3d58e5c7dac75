// Command foreignclient runs a command beside things that it must not touch, and fails if it touches one: clients on all
// ports and sockets on which the agent would look for them, a sound server, a session bus and an agent of the user, and the
// user's home. They are all decoys, to which the command's environment leads.
//
//	go run ./tools/foreignclient make test
//
// The environment tells build tools where their caches and settings in the real home are.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Exit codes of its own: the command succeeded but touched a decoy, or it was not run.
const (
	exitTouched = 1
	exitNotRun  = 2
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: foreignclient COMMAND [ARGUMENT...]")
		os.Exit(exitNotRun)
	}
	// A terminal sends Ctrl-C to the command, too: wait for its end.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(standard(), os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command beside the decoys of o. The result is the command's exit code, or exitTouched.
func run(o options, command []string, stdout, stderr io.Writer) int {
	complain := func(err error) int {
		fmt.Fprintln(stderr, "foreignclient:", err)
		return exitNotRun
	}
	env, err := toolEnvironment()
	if err != nil {
		return complain(err)
	}
	d, err := place(o)
	if err != nil {
		return complain(err)
	}
	for _, address := range d.unwatched {
		fmt.Fprintf(stderr, "foreignclient: %s is not watched: another program has it, perhaps a client that runs\n", address)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), env...), d.environment()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	err = cmd.Run()
	touched := d.remove()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return complain(err)
	}
	if len(touched) > 0 {
		fmt.Fprintf(stderr, "foreignclient: %v reached what is not its own:\n", command)
		for _, t := range touched {
			fmt.Fprintln(stderr, " ", t)
		}
	}
	code := cmd.ProcessState.ExitCode()
	if code == 0 && len(touched) > 0 || code < 0 { // below 0: a signal has ended it
		return exitTouched
	}
	return code
}

// toolEnvironment tells the Go command, rustup and git where their files in the real home are: a build may use them,
// whatever it builds.
func toolEnvironment() ([]string, error) {
	found := map[string]string{}
	text, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOENV").Output()
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the Go command for its folders (go env): %w", err)
	}
	git := os.Getenv("GIT_CONFIG_GLOBAL")
	if git == "" {
		git = filepath.Join(os.Getenv("HOME"), ".gitconfig")
	}
	if _, err := os.Stat(git); err != nil {
		git = os.DevNull
	}
	found["GIT_CONFIG_GLOBAL"] = git
	for name, folder := range map[string]string{"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo"} {
		folder = filepath.Join(os.Getenv("HOME"), folder)
		if _, err := os.Stat(folder); err == nil && os.Getenv(name) == "" {
			found[name] = folder
		}
	}
	var env []string
	for name, value := range found {
		env = append(env, name+"="+value)
	}
	return env, nil
}
