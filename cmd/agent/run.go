package main

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/platform"
)

func runCommand() *cobra.Command {
	var in settingsFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Report devices to the client until told to stop",
		Long: `Watches the endpoints of this machine and keeps the client's list of certified devices up to
date. One line is logged for each change: what changed, to whom it was sent, how long after the
OS event the client had answered.

--state-file is short for --push-state-file: states that the vendor's software writes into a file
(docs/api.md).

SIGHUP reads settings and catalogue again; if they are wrong, the old ones stay in force.
SIGTERM and SIGINT empty the client's list and end with exit code 0.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// First of all, and never taken back: a SIGHUP that comes while the agent starts or ends would kill it.
			hup := reloadRequests()
			set, err := in.load(cmd, catalogueRequired)
			if err != nil {
				return err
			}
			return serve(cmd, &in, set, hup)
		},
	}
	in.add(cmd)
	cmd.Flags().SetNormalizeFunc(stateFileFlag)
	return cmd
}

// gcPercent keeps the heap small: the agent runs all day beside everything else, and has time.
const gcPercent = 25

// serve runs the agent until it is told to stop. Each signal of hup has it read its configuration again.
func serve(cmd *cobra.Command, in *settingsFlags, set *settings, hup <-chan os.Signal) error {
	debug.SetGCPercent(gcPercent)
	lock, err := lockClient(set)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }() // after the farewell: it tells the others that the client has it
	}
	resolving, err := set.engine()
	if err != nil {
		return err
	}
	var d *daemon
	sources, err := set.sources(resolving.HIDRules(), func() *engine.Engine { return d.engine })
	if err != nil {
		return err
	}
	listener, err := listenControl(set)
	if err != nil {
		return err
	}
	set.log.Info("sidetone runs", "version", version, "vendor", set.cat.Vendor.Name, "products", len(set.cat.Products))
	d = newDaemon(set.log, sources, resolving, set.rpc())
	d.set.Store(set)
	ctx, cancel := context.WithCancel(cmd.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	reread := make(chan chan error) // one reading at a time, whoever asks
	b := newBackend(d, func() error {
		answer := make(chan error, 1)
		select {
		case reread <- answer:
			return <-answer
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-hup:
				_ = d.reload(cmd, in, set)
			case answer := <-reread:
				answer <- d.reload(cmd, in, set)
			case <-ctx.Done():
				return
			}
		}
	})
	if lock != nil {
		d.report.announce = lock.Announce
		wg.Go(func() {
			if err := lock.Watch(ctx, set.log, d.report.repeat); err != nil {
				set.log.Warn("after another vendor's agent has ended, devices with the same id stay away until the next change", "reason", err)
			}
		})
	}
	if listener != nil {
		wg.Go(func() { b.run(ctx) })
		wg.Go(func() {
			if err := control.NewServer(b, set.log).Serve(ctx, listener); err != nil {
				set.log.Error("the local API has ended", "reason", err)
			}
		})
	}
	d.run(ctx)
	set.log.Info("sidetone has stopped")
	return nil
}

// lockClient sees to it that no other agent speaks for the same client id. Whatever else is in the way
// of that does not keep this one from reporting.
func lockClient(set *settings) (*platform.ClientLock, error) {
	folder, err := platform.AgentsFolder(os.Getenv)
	if err == nil {
		var lock *platform.ClientLock
		if lock, err = platform.LockClient(folder, set.who.ClientID); err == nil {
			return lock, nil
		}
	}
	if errors.As(err, new(*platform.ErrRunning)) {
		return nil, err
	}
	set.log.Warn("another agent for the same client_id would not be noticed, and the two would overwrite each other's list", "reason", err)
	return nil, nil
}

// listenControl opens the local API. That another agent runs is an error; whatever else is in
// its way is not: reporting goes on without it.
func listenControl(set *settings) (net.Listener, error) {
	address, err := set.controlAddress()
	if err == nil {
		var l net.Listener
		if l, err = platform.ListenControl(address); err == nil {
			return l, nil
		}
	}
	if errors.As(err, new(*platform.ErrRunning)) {
		return nil, err
	}
	set.log.Warn("no local API: 'sidetone status' and pushed states do not work", "reason", err)
	return nil, nil
}

// reload puts a new configuration into force, or says what is wrong with it and keeps the old.
func (d *daemon) reload(cmd *cobra.Command, in *settingsFlags, started *settings) error {
	set, err := in.load(cmd, catalogueRequired)
	if err == nil {
		err = started.who.Stays(set.who)
	}
	var resolving engine.Settings
	if err == nil {
		resolving, err = set.engine()
	}
	if err != nil {
		d.log.Error("the old configuration stays in force", "reason", err)
		return err
	}
	d.set.Store(set)
	d.engine.Configure(resolving)
	if d.hid != nil {
		d.hid.Want(resolving.HIDRules().Wants)
	}
	d.kick() // a state file may speak of products that are new
	d.report.configure(set.rpc())
	if !reflect.DeepEqual(set.Sources, started.Sources) || set.Push != started.Push || set.Log != started.Log || set.Control != started.Control {
		d.log.Warn("changed settings under sources, push, log and control come into force with the next start")
	}
	d.log.Info("configuration read again", "products", len(set.cat.Products))
	return nil
}
