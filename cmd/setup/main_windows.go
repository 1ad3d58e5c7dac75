// Command setup is what the package for Windows Installer runs as the system, for what its tables cannot express. It is part of the
// package and is not installed: whatever version is on the machine, complete or not, the package's own setup deals with it. It has no
// window and no console, and reads no settings, no environment and nothing of a user. Its arguments are constants of the package, except
// for the folder, which nobody chooses. docs/packaging.md says when it is called.
package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"sidetone/internal/installation"
	"sidetone/internal/platform/system"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/platform/windows/com"
	"sidetone/internal/service/scm"
	"sidetone/internal/service/tasks"
)

func main() {
	system.LoadDLLsOfSystemOnly()
	os.Exit(exitCode(run(os.Args[1:])))
}

// exitCode is the system's number of an error, if it has one: that is all that Windows Installer logs.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return int(number)
	}
	if result, ok := errors.AsType[com.HRESULT](err); ok {
		return int(int32(result))
	}
	return -1
}

var errArguments = errors.New("want a verb, the folder, the programs of agent, tray and service, and what the verb wants")

// run performs a verb on the programs of a folder.
func run(args []string) error {
	if len(args) < 5 {
		return errArguments
	}
	verb, folder, programs, more := args[0], filepath.Clean(args[1]), args[2:5], args[5:]
	name := strings.TrimSuffix(programs[0], ".exe")
	list := func() ([]installation.Process, error) { return installation.Running(folder, programs[:2]) }
	stop := func() error { return installation.StopService(name, folder, programs[2]) }
	switch verb {
	case "make-way":
		return errors.Join(installation.RemoveAside(folder), installation.SetAside(folder, programs))
	case "end":
		if len(more) != 1 {
			return errArguments
		}
		if other := installation.Package(name); other != "" && other != more[0] {
			return nil // it was upgraded to another package, whose programs these are
		}
		return errors.Join(installation.EndAll(list, stop), installation.RemoveAside(folder))
	case "hand-over":
		return errors.Join(installation.UpgradeAll(list), installation.RemoveAside(folder))
	case "add-task":
		return addTask(name, folder, programs, more)
	case "remove-task":
		return removeTask(name, filepath.Join(folder, programs[1]))
	case "configure-service":
		return scm.ConfigureByName(name)
	}
	return errArguments
}

// Variables for tests: Wine drops from a definition what it does not know.
var (
	readTask   = tasks.Read
	deleteTask = tasks.Remove
)

// removeTask removes the task that starts the tray's program at every user's log-in. A task of that name may belong to somebody else.
func removeTask(name, program string) error {
	task, err := readTask(name)
	if err != nil || task.Text == "" {
		return err
	}
	starts, arguments, _, err := tasks.Parse(task.Text)
	if err != nil {
		return err
	}
	if installation.IsOther(starts, program) {
		return installation.Taken("the task "+name, starts+" "+arguments)
	}
	return deleteTask(name)
}

// addTask registers a task that starts the tray's program at every user's log-in, unless some users could replace that program.
func addTask(name, folder string, programs, args []string) error {
	for _, program := range programs[:2] {
		if err := acl.OnlyAdministratorsCanChange(filepath.Join(folder, program)); err != nil {
			return err
		}
	}
	return tasks.Register(name, tasks.Text(name, "", filepath.Join(folder, programs[1]), windows.ComposeCommandLine(args)), true)
}
