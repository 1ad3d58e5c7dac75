package app

import (
	"cmp"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
	"sidetone/internal/rpcclient"
	"sidetone/internal/strictyaml"
)

// Settings are the settings of an agent, complete and checked.
type Settings struct {
	Config    *config.Config
	Origins   []config.Setting     // the same, with where each comes from
	Catalogue *catalogue.Catalogue // nil: none is set
	Identity  brand.Identity       // as far as it is known without a catalogue
	Ignored   *health.Condition    // says why the administrator's settings are ignored; nil: they are not
}

// NewSettings returns the settings of an agent for a catalogue that has been loaded already.
func NewSettings(c *config.Config, cat *catalogue.Catalogue) *Settings {
	return &Settings{Config: c, Catalogue: cat, Identity: brand.Identity{ID: cat.Vendor.ID, ClientID: cat.Vendor.ClientID}}
}

// Load reads settings and, where they name one, the catalogue. An InputError says what is wrong with them.
func Load(from config.Options, host Host) (*Settings, error) {
	c, origins, problems := config.Load(from)
	if err := Input(problems, nil); err != nil {
		return nil, err
	}
	s := &Settings{Config: c, Origins: origins, Ignored: Ignored(from)}
	if c.Catalogue == "" {
		return s, nil
	}
	var err error
	s.Catalogue, problems, err = catalogue.Load(c.Catalogue)
	if err := Input(problems, err); err != nil {
		return nil, err
	}
	if s.Identity, err = identity(c, s.Catalogue, host); err != nil {
		return nil, InputError{err}
	}
	return s, nil
}

// Ignored says why the administrator's settings are ignored; nil: they are not, or there are none.
func Ignored(from config.Options) *health.Condition {
	if from.Refused == nil || from.Explicit != "" {
		return nil
	}
	return &health.Wrap(from.Refused, health.SettingsIgnored, health.Warning, health.Args{"path": from.SystemFile}).Condition
}

// InputError marks an error in what the user gave: settings, a file, a flag. Nothing was done.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }
func (e InputError) Unwrap() error { return e.Err }

// Problems are everything that is wrong with files and settings.
type Problems []strictyaml.Problem

// Lines returns each problem as a line of its own.
func (l Problems) Lines() []string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return lines
}

func (l Problems) Error() string { return strings.Join(l.Lines(), "; ") }

// Input makes an InputError of problems, or of the error that kept a file from being read; nil if there is neither.
func Input(problems []strictyaml.Problem, err error) error {
	switch {
	case err != nil:
		return InputError{err}
	case len(problems) > 0:
		return InputError{Problems(problems)}
	}
	return nil
}

// Policy returns where the vendor or the administrator has decided a setting, such as log.level; "": the user decides it.
func (s *Settings) Policy(path string) string {
	for _, o := range s.Origins {
		if o.Path == path && o.Layer == config.LayerPolicy {
			return o.Origin
		}
	}
	return ""
}

func (s *Settings) needCatalogue() error {
	if s.Catalogue == nil {
		return InputError{errors.New("no catalogue: say which devices are yours with --catalogue FILE, " +
			"SIDETONE_CATALOGUE or 'catalogue:' in the settings file")}
	}
	return nil
}

func (s *Settings) resolver() (*catalogue.Resolver, error) {
	cat, report := s.Catalogue, s.Config.Report
	if cat == nil {
		cat = &catalogue.Catalogue{}
	}
	return catalogue.NewResolver(cat, devices.Options{
		OS: devices.OS(runtime.GOOS), AudioID: report.AudioID, VideoID: report.VideoID, IDMaxBytes: report.IDMaxBytes, Fields: report.Fields,
	})
}

// Engine returns the settings of the Engine.
func (s *Settings) Engine() (engine.Settings, error) {
	r, err := s.resolver()
	c := s.Config
	return engine.Settings{Resolver: r, RemovalGrace: c.Engine.RemovalGrace, StaleAfter: c.Engine.StaleAfter, PauseList: c.Pause.List}, err
}

// rpc returns the options of the rpcclient.
func (s *Settings) rpc(host Host, log *slog.Logger) rpcclient.Options {
	rpc := s.Config.RPC
	vendor := s.Catalogue.Vendor
	return rpcclient.Options{
		ClientID: vendor.ClientID, Origin: cmp.Or(rpc.Origin, vendor.RPCOrigin),
		Clients: rpc.Clients, Transports: rpc.Transports, Ports: rpc.Ports,
		Local:        ipc.NewMachine(s.ipcFolders(host), log),
		ProbeTimeout: rpc.ProbeTimeout, AnswerTimeout: rpc.AnswerTimeout, HTTPTimeout: rpc.HTTPTimeout,
		Tokens: rpc.Tokens, TokenEvery: rpc.TokenEvery, RetryMax: rpc.RetryMax, ResendEvery: rpc.ResendEvery,
		OnExit: rpc.OnExit, StopTimeout: host.StopTimeout,
	}
}

// ipcFolders returns the folders that the settings name, else the system's.
func (s *Settings) ipcFolders(host Host) []string {
	if named := s.Config.RPC.IPCFolders; len(named) > 0 {
		return slices.Clone(named)
	}
	return paths.ClientSockets(runtime.GOOS, host.Getenv)
}
