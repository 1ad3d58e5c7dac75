package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/agent"
	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
	"sidetone/internal/strictyaml"
)

type need bool

const (
	catalogueOptional need = false
	catalogueRequired need = true
)

type settingsFlags struct{ catalogue string }

type settings struct {
	cat *devices.Catalogue
	log *slog.Logger
}

func (f *settingsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.catalogue, "catalogue", "", "vendor catalogue")
}

func (f *settingsFlags) load(cmd *cobra.Command, n need) (*settings, error) {
	s := &settings{cat: &devices.Catalogue{}, log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}
	if f.catalogue == "" {
		return s, nil
	}
	b, err := strictyaml.ReadFile(f.catalogue)
	if err != nil {
		return nil, badInput{err}
	}
	if _, problems := strictyaml.Decode(f.catalogue, b, s.cat); len(problems) > 0 {
		return nil, badInput{fmt.Errorf("%s", problems[0])}
	}
	return s, nil
}

func (s *settings) platform() platform.Options { return platform.Options{Audio: true, Camera: true} }
func (s *settings) resolver() (*devices.Resolver, error) {
	return devices.NewResolver(s.cat, devices.Options{OS: devices.OS(runtime.GOOS), IDMaxBytes: 127})
}

func (s *settings) engine() (agent.Settings, error) {
	r, err := s.resolver()
	return agent.Settings{Resolver: r, RemovalGrace: time.Second, StaleAfter: 30 * time.Second}, err
}

func (s *settings) rpc() rpcclient.Options {
	o := rpcclient.Options{ClientID: s.cat.Vendor.ClientID, Transport: rpcclient.Transport(os.Getenv("SIDETONE_RPC_TRANSPORT"))}
	if p, err := strconv.Atoi(os.Getenv("SIDETONE_RPC_PORTS")); err == nil {
		o.Ports = []int{p}
	}
	return o
}
