//go:build linux

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"sidetone/examples"
	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
)

// hidAgentArgument makes this program an agent whose HID devices are in another folder than
// those of the system, which the shipped one cannot be told.
const hidAgentArgument = "hid-agent"

// runHIDAgent is the agent until ctx ends. args is the folder that holds sys and dev; the settings are in the environment.
func runHIDAgent(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("the agent needs the folder that holds sys and dev")
	}
	debug.SetGCPercent(app.GCPercent)
	c, _, problems := config.Load(config.Options{Env: os.Environ()})
	if len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	endpoints, err := writeEndpoints(args[0])
	if err != nil {
		return err
	}
	c.Sources = config.Sources{HID: true, Files: []string{endpoints}}
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	if len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	agent, err := app.New(app.Options{
		Settings: app.NewSettings(c, cat), Host: app.Host{Getenv: os.Getenv, HIDRoot: args[0]},
		Version: "bench", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err == nil {
		agent.Run(ctx)
	}
	return err
}
