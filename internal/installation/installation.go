// Package installation is how an installer on Windows deals with the programs that run from its folder, whoever has started them. It
// talks to no pipe of a user, and runs nothing that belongs to one: it sets events that each of the programs has made for that, and
// what they do then they do as their users.
package installation

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Request is what an installer asks of a program that runs.
type Request string

// The requests.
const (
	End     Request = "end"     // end, and leave no list in any client
	Upgrade Request = "upgrade" // have the program that is in this one's place now go on
)

// A Process is one of the installation's programs that runs.
type Process interface {
	Ask(Request) (heard bool) // false: it does not listen
	Wait(time.Duration) (ended bool)
	Kill() error
	Close()
}

const (
	endTime     = 5 * time.Second  // for an agent to empty the clients' lists and end: ten times what it needs
	endAllTime  = 20 * time.Second // for those of all users, and all that is started meanwhile
	upgradeTime = 20 * time.Second // for agents to be replaced, which go on whether or not they are waited for
	rounds      = 3                // of looking for processes: a supervisor may just have started another one
)

// EndAll has all processes end, in order if they listen. list lists them anew at each call. stopService has the service end that would
// start those anew which are killed; not before those that listen have ended, since it would not have them empty clients' lists.
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

// UpgradeAll has all processes that listen go on as the programs that are there now. It returns when they have, or after a while.
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

// ask asks all, and returns those that have heard it.
func ask(all []Process, r Request) (asked []Process) {
	for _, p := range all {
		if p.Ask(r) {
			asked = append(asked, p)
		}
	}
	return asked
}

// waitFor waits until all have ended, and no longer than that.
func waitFor(all []Process, limit time.Duration) {
	until := time.Now().Add(limit)
	for _, p := range all {
		p.Wait(max(0, time.Until(until)))
	}
}

// isOf reports whether a program at path is one of those in a folder, by the name that it has or had there before it was set aside.
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
