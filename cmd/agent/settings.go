package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidetone/internal/brand"
	"sidetone/internal/config"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
	"sidetone/internal/strictyaml"
)

// need says whether a verb works without a catalogue.
type need bool

const (
	catalogueOptional need = false
	catalogueRequired need = true
)

// settingsFlags are the flags of every verb that reads settings: one for each of them, and
// --config.
type settingsFlags struct{ file string }

func (f *settingsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", "", "settings file, instead of the user's and the system's")
	for _, k := range config.Keys() {
		cmd.Flags().String(k.Flag, "", fmt.Sprintf("%s (default %s; env %s)", k.Help, orNone(k.Default), k.Env))
	}
}

// options gathers what the user said, and where else to look.
func (f *settingsFlags) options(cmd *cobra.Command) config.Options {
	o := config.Options{
		Flags:      make(map[string]string),
		Env:        os.Environ(),
		UserFile:   config.UserFile(runtime.GOOS, os.Getenv),
		SystemFile: config.SystemFile(runtime.GOOS, os.Getenv),
		Explicit:   f.file,
	}
	paths := make(map[string]string)
	for _, k := range config.Keys() {
		paths[k.Flag] = k.Path
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if path, ok := paths[flag.Name]; ok {
			o.Flags[path] = flag.Value.String()
		}
	})
	return o
}

// settings are what is in force, complete and checked.
type settings struct {
	*config.Config
	list []config.Setting // the same, with where each comes from
	cat  *devices.Catalogue
	who  brand.Identity // as far as it is known without a catalogue
	log  *slog.Logger
}

// load reads settings and catalogue.
func (f *settingsFlags) load(cmd *cobra.Command, n need) (*settings, error) {
	c, list, problems := config.Load(f.options(cmd))
	if err := asInput(problems, nil); err != nil {
		return nil, err
	}
	s := &settings{Config: c, list: list, cat: &devices.Catalogue{}, log: logger(cmd.ErrOrStderr(), c.Log)}
	switch {
	case c.Catalogue != "":
		var err error
		s.cat, problems, err = config.LoadCatalogue(c.Catalogue)
		if err := asInput(problems, err); err != nil {
			return nil, err
		}
		if s.who, err = identity(c, s.cat); err != nil {
			return nil, badInput{err}
		}
	case n == catalogueRequired:
		return nil, badInput{errors.New("no catalogue: say which devices are yours with --catalogue FILE, SIDETONE_CATALOGUE or 'catalogue:' in the settings file")}
	}
	return s, nil
}

// asInput makes bad input of problems, or of what kept a file from being read.
func asInput(problems []strictyaml.Problem, err error) error {
	if err == nil && len(problems) == 0 {
		return nil
	}
	if err == nil {
		err = problemList(problems)
	}
	return badInput{err}
}

// problemList is all that is wrong with files and settings.
type problemList []strictyaml.Problem

func (l problemList) lines() []string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return lines
}

func (l problemList) Error() string { return strings.Join(l.lines(), "; ") }

func logger(w io.Writer, l config.Log) *slog.Logger {
	opts := &slog.HandlerOptions{Level: l.Level.Slog()}
	if l.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

func (s *settings) platform() platform.Options {
	return platform.Options{Audio: s.Sources.Audio, Camera: s.Sources.Camera, Files: s.Sources.Files, PulseServer: s.Sources.PulseServer, Getenv: os.Getenv}
}

func (s *settings) resolver() (*devices.Resolver, error) {
	return devices.NewResolver(s.cat, devices.Options{
		OS: devices.OS(runtime.GOOS), AudioID: s.Report.AudioID, VideoID: s.Report.VideoID,
		IDMaxBytes: s.Report.IDMaxBytes, Fields: s.Report.Fields,
	})
}

func (s *settings) engine() (engine.Settings, error) {
	r, err := s.resolver()
	return engine.Settings{Resolver: r, RemovalGrace: s.Engine.RemovalGrace, StaleAfter: s.Engine.StaleAfter}, err
}

func (s *settings) rpc() rpcclient.Options {
	origin := s.RPC.Origin
	if origin == "" {
		origin = s.cat.Vendor.RPCOrigin
	}
	transports := make([]rpcclient.Transport, len(s.RPC.Transports))
	for i, t := range s.RPC.Transports {
		transports[i] = rpcclient.Transport(t)
	}
	return rpcclient.Options{
		ClientID: s.cat.Vendor.ClientID, Origin: origin,
		Clients: rpcclient.Which(s.RPC.Clients), Transports: transports, Ports: s.RPC.Ports,
		Local:        newLocal(s.IPCFolders(runtime.GOOS, os.Getenv)),
		ProbeTimeout: s.RPC.ProbeTimeout, AnswerTimeout: s.RPC.AnswerTimeout, HTTPTimeout: s.RPC.HTTPTimeout,
		Tokens: s.RPC.Tokens, TokenEvery: s.RPC.TokenEvery, RetryMax: s.RPC.RetryMax, ResendEvery: s.RPC.ResendEvery,
		OnExit: rpcclient.ExitPolicy(s.RPC.OnExit),
	}
}
