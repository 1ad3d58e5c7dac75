package main

import (
	"context"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"

	"github.com/spf13/cobra"

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

SIGHUP reads settings and catalogue again; if they are wrong, the old ones stay in force.
SIGTERM and SIGINT empty the client's list and end with exit code 0.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := in.load(cmd, catalogueRequired)
			if err != nil {
				return err
			}
			return serve(cmd, &in, set)
		},
	}
	in.add(cmd)
	return cmd
}

// gcPercent keeps the heap small: the agent runs all day beside everything else, and has time.
const gcPercent = 25

func serve(cmd *cobra.Command, in *settingsFlags, set *settings) error {
	debug.SetGCPercent(gcPercent)
	engine, err := set.engine()
	if err != nil {
		return err
	}
	sources, err := platform.Sources(set.platform(), set.log)
	if err != nil {
		return err
	}
	set.log.Info("sidetone runs", "version", version, "vendor", set.cat.Vendor.Name, "products", len(set.cat.Products))
	d := newDaemon(set.log, sources, engine, set.rpc())
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, reloadSignals...)
	defer signal.Stop(hup)
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	go func() {
		for {
			select {
			case <-hup:
				d.reload(cmd, in, set)
			case <-ctx.Done():
				return
			}
		}
	}()
	d.run(ctx)
	set.log.Info("sidetone has stopped")
	return nil
}

// reload puts a new configuration into force, or says what is wrong with it and keeps the old.
func (d *daemon) reload(cmd *cobra.Command, in *settingsFlags, started *settings) {
	set, err := in.load(cmd, catalogueRequired)
	if err != nil {
		d.log.Error("the old configuration stays in force", "reason", err)
		return
	}
	engine, err := set.engine()
	if err != nil {
		d.log.Error("the old configuration stays in force", "reason", err)
		return
	}
	d.engine.Configure(engine)
	d.report.configure(set.rpc())
	if !reflect.DeepEqual(set.Sources, started.Sources) || set.Log != started.Log {
		d.log.Warn("changed settings under sources and log come into force with the next start")
	}
	d.log.Info("configuration read again", "products", len(set.cat.Products))
}
