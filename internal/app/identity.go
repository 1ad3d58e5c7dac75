package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/system"
	"sidetone/internal/rpcclient"
	"sidetone/internal/texts"
)

// identity returns whose agent this is, or is asked; cat may be nil.
func identity(c *config.Config, cat *catalogue.Catalogue, host Host) (brand.Identity, error) {
	file, err := ownBrand(host)
	if err != nil {
		return brand.Identity{}, err
	}
	var vendor *brand.Identity
	if cat != nil {
		vendor = &brand.Identity{ID: cat.Vendor.ID, ClientID: cat.Vendor.ClientID}
	}
	return brand.Resolve(c.Vendor, file, vendor)
}

// ProgramName returns the name of the agent's program, after which its files on this machine are named.
func ProgramName(host Host) string {
	if host.Executable != nil {
		if self, err := host.Executable(); err == nil {
			return brand.NameOf(self)
		}
	}
	return brand.Unbranded
}

// stateFolder returns where this agent keeps what outlives it.
func (a *App) stateFolder() (string, error) {
	return paths.StateFolder(a.opts.Host.Getenv, ProgramName(a.opts.Host), a.opts.Settings.Identity.ID)
}

// clientMemory returns where this agent keeps which clients have answered; nil: it has no folder for that.
func (a *App) clientMemory() rpcclient.Store {
	folder, err := a.stateFolder()
	if err != nil {
		a.log.Warn("the next agent will not know which clients have answered", "reason", err)
		return nil
	}
	return files.Text(filepath.Join(folder, "clients.json"))
}

// ownBrand reads the brand file beside this program; nil: there is none.
func ownBrand(host Host) (*brand.File, error) {
	self, err := host.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, and the brand file beside it: %w", err)
	}
	return brand.Load(brand.Path(self))
}

// Printer returns a printer for a language; "" is that of the desktop. It uses the words of this program's brand.
func Printer(asked string, host Host) (texts.Printer, error) {
	file, err := ownBrand(host)
	if err != nil {
		return texts.Printer{}, err
	}
	return file.Printer(asked, append(texts.FromEnvironment(host.Getenv), system.Languages()...))
}

// controlAddress returns where the local API of this agent is.
func (s *Settings) controlAddress(host Host) (string, error) {
	if s.Config.Control.Socket != "" {
		return s.Config.Control.Socket, nil
	}
	return paths.ControlAddress(host.Getenv, s.Identity.ID)
}

// FindAgent returns a client of the agent that the settings mean. An InputError says why that is not clear.
func FindAgent(ctx context.Context, c *config.Config, host Host) (*control.Client, error) {
	address, err := AgentAddress(ctx, c, host)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return control.NewClient(func(context.Context) (net.Conn, error) { return nil, err }), nil
	case err != nil:
		return nil, err
	}
	return clientOf(address), nil
}

// clientOf makes a client of the agent at an address.
func clientOf(address string) *control.Client {
	return control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, address) })
}

// AgentAddress returns where the agent that the settings mean is, or would be: the address that they name, else that of their vendor, of
// this program's brand, or of the only agent that runs. An InputError says why that is not clear; fs.ErrNotExist means that nothing
// names an agent, and none runs.
func AgentAddress(ctx context.Context, c *config.Config, host Host) (string, error) {
	if c.Control.Socket != "" {
		return c.Control.Socket, nil
	}
	who, err := identity(c, nil, host)
	switch {
	case err != nil:
		return "", InputError{err}
	case who.ID != "":
		return paths.ControlAddress(host.Getenv, who.ID)
	default:
		return onlyAgent(ctx, host)
	}
}

// NamesAgent reports whether settings or this program's brand say, rightly or wrongly, which agent is meant. If not, AgentAddress returns
// that of the only one that runs, whoever its vendor is.
func NamesAgent(c *config.Config, host Host) bool {
	who, err := identity(c, nil, host)
	return c.Control.Socket != "" || err != nil || who.ID != ""
}

// StateFolders returns the folders in which the agent that the settings mean keeps its log and the reports of crashes: that of their vendor
// or of this program's brand, else those of all vendors whose agents have run here.
func StateFolders(c *config.Config, host Host) ([]string, error) {
	who, err := identity(c, nil, host)
	if err != nil {
		return nil, InputError{err}
	}
	folder, err := paths.StateFolder(host.Getenv, ProgramName(host), who.ID)
	if err != nil || who.ID != "" {
		return []string{folder}, err
	}
	all, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var folders []string
	for _, entry := range all {
		folders = append(folders, filepath.Join(folder, entry.Name()))
	}
	return folders, nil
}

// onlyAgent finds the address of the one agent that runs. fs.ErrNotExist means that none does.
func onlyAgent(ctx context.Context, host Host) (string, error) {
	agents, err := ipc.Agents(ctx, host.Getenv)
	switch {
	case len(agents) == 1:
		return agents[0].Address, nil
	case len(agents) > 1:
		vendors := make([]string, len(agents))
		for i, a := range agents {
			vendors[i] = a.Vendor
		}
		return "", InputError{fmt.Errorf("agents of several vendors run (%s): say which with --vendor or SIDETONE_VENDOR",
			strings.Join(vendors, ", "))}
	case err != nil:
		return "", err
	}
	folder, err := paths.AgentsFolder(host.Getenv)
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("no vendor's agent in %s: %w", folder, fs.ErrNotExist)
}
