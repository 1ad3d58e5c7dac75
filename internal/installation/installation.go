// Package installation is how an installer on Windows deals with the programs that run from its folder, whoever started them. It opens no
// pipe of a user and runs nothing of theirs: it sets events that each program has made for that, and the programs act as their users.
package installation

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Request is what an installer asks of a running program.
type Request string

// The requests.
const (
	End     Request = "end"     // end, after emptying the clients' lists
	Upgrade Request = "upgrade" // hand over to the program that is now installed in its place
)

// A Process is one of the installation's programs while it runs.
type Process interface {
	Ask(Request) (heard bool) // false: it does not listen for requests
	Wait(time.Duration) (ended bool)
	Kill() error
	Close()
}

const (
	endTime     = 5 * time.Second  // for an agent to empty the clients' lists and end: ten times what it needs
	endAllTime  = 20 * time.Second // for all users' agents, and whatever is started meanwhile
	upgradeTime = 20 * time.Second // for agents to be replaced; they are even if nobody waits
	rounds      = 3                // how often processes are listed: a supervisor may have just started another
)

// EndAll ends all processes, in order if they listen. It calls list again for each round. stopService stops the service that would
// restart killed agents; it is called only after those that listen have ended, since stopping the service does not empty the clients'
// lists.
func EndAll(list func() ([]Process, error), stopService func() error) error {
	var wrong []error
	until := time.Now().Add(endAllTime)
	for round := range rounds {
		all, err := list()
		if err != nil {
			return errors.Join(append(wrong, err)...)
		}
		waitFor(ask(all, End), min(endTime, time.Until(until)))
		if round == 0 {
			wrong = append(wrong, stopService())
		}
		for _, p := range all {
			if !p.Wait(0) {
				wrong = append(wrong, p.Kill())
			}
		}
		waitFor(all, min(endTime, time.Until(until)))
		for _, p := range all {
			p.Close()
		}
		if len(all) == 0 {
			break
		}
	}
	return errors.Join(wrong...)
}

// UpgradeAll has all processes that listen hand over to the programs that are installed now. It returns when they have, or after a while.
func UpgradeAll(list func() ([]Process, error)) error {
	all, err := list()
	if err != nil {
		return err
	}
	waitFor(ask(all, Upgrade), upgradeTime)
	for _, p := range all {
		p.Close()
	}
	return nil
}

// ask sends a request to all processes, and returns those that listen.
func ask(all []Process, r Request) (asked []Process) {
	for _, p := range all {
		if p.Ask(r) {
			asked = append(asked, p)
		}
	}
	return asked
}

// waitFor waits until all have ended, but no longer than limit.
func waitFor(all []Process, limit time.Duration) {
	until := time.Now().Add(limit)
	for _, p := range all {
		p.Wait(max(0, time.Until(until)))
	}
}

// isOf reports whether the program at path is one of those in a folder, by the name that it has or had before it was moved aside.
func isOf(path, folder string, names []string) bool {
	dir, base := split(path)
	if !strings.EqualFold(dir, strings.TrimRight(folder, `\/`)) {
		return false
	}
	if filepath.Ext(base) == asideSuffix {
		base = strings.TrimSuffix(base, asideSuffix)
		base = strings.TrimSuffix(base, filepath.Ext(base)) // its number
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(base, name) })
}

// split is filepath.Split for paths of Windows, on every system.
func split(path string) (dir, base string) {
	i := strings.LastIndexAny(path, `\/`)
	return path[:max(0, i)], path[i+1:]
}
