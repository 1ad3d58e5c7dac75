//go:build linux

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"sidetone/examples"
	"sidetone/internal/config"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
)

// hidAgentArgument makes this program an agent whose HID devices are in another folder than
// those of the system, which the real one cannot be told.
const hidAgentArgument = "hid-agent"

// gcPercent is the agent's own.
const gcPercent = 25

// runHIDAgent reports the headset until ctx ends, put together as 'sidetone run' is. args is the
// folder that holds sys and dev; the settings are in the environment.
func runHIDAgent(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("the agent needs the folder that holds sys and dev")
	}
	debug.SetGCPercent(gcPercent)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg, _, problems := config.Load(config.Options{Env: os.Environ()})
	if len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	set, err := acmeSettings()
	if err != nil {
		return err
	}
	client := rpcclient.New(clientOptions(cfg, set.Resolver.Catalogue().Vendor.ClientID, log))
	var source platform.HID
	eng := engine.New(engine.Options{
		Settings: set, Sources: []string{"hid", "audio"}, Publish: client.Publish, Log: log,
		Ask: func(r hid.Request) { source.Send(r) },
	})
	if source, err = platform.NewHID(args[0], set.HIDRules().Wants, eng.HID, log); err != nil {
		return err
	}
	inputs, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { eng.Run(inputs) })
	running.Go(func() { platform.Follow(inputs, source, nil, eng.Observe) })
	eng.Observe(devices.Observation{Source: "audio", Endpoints: headsetEndpoints(), At: time.Now()})
	client.Run(ctx)
	stop()
	running.Wait()
	return nil
}

// acmeSettings are those of an agent with the example catalogue that nobody has told anything.
func acmeSettings() (engine.Settings, error) {
	cat, problems := config.DecodeCatalogue("acme.yaml", examples.Acme)
	if len(problems) > 0 {
		return engine.Settings{}, errors.New(problems[0].String())
	}
	cfg := config.Default()
	r, err := devices.NewResolver(cat, devices.Options{OS: devices.Linux, IDMaxBytes: cfg.Report.IDMaxBytes, Fields: cfg.Report.Fields})
	return engine.Settings{Resolver: r, RemovalGrace: cfg.Engine.RemovalGrace, StaleAfter: cfg.Engine.StaleAfter}, err
}

func clientOptions(cfg *config.Config, clientID string, log *slog.Logger) rpcclient.Options {
	o := rpcclient.Options{
		ClientID: clientID, Ports: cfg.RPC.Ports, Local: platform.NewMachine(cfg.RPC.IPCFolders, log), Log: log,
		OnDelivery: func(d rpcclient.Delivery) {
			log.Info("reported", "what", devices.Reasons(d.Changes), "sent to", d.To.Transport, "after the event", d.SinceOS)
		},
	}
	for _, t := range cfg.RPC.Transports {
		o.Transports = append(o.Transports, rpcclient.Transport(t))
	}
	return o
}
