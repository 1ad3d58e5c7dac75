// Command tray is the tray icon. It is a separate program because it runs all day and needs little of what the agent links. 'sidetone
// tray' starts it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"sidetone/internal/brand"
	"sidetone/internal/installation"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/system"
	"sidetone/internal/texts"
	"sidetone/internal/tray"
)

// version is set by the build.
var version = "dev"

// gcPercent keeps the heap small: the program runs all day and allocates little.
const gcPercent = 25

func main() {
	system.LoadDLLsOfSystemOnly()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it even if a hanging bus blocks shutdown
	debug.SetGCPercent(gcPercent)
	if err := run(ctx, os.Args[1:]); err != nil {
		said := texts.Clean(err.Error())
		fmt.Fprintln(os.Stderr, name()+":", said)
		logFailure(os.Args[1:], said)
		os.Exit(1)
	}
}

// name returns the name of the agent's program, by which users know this one.
func name() string {
	self, _ := os.Executable()
	return brand.NameOf(brand.AgentOf(self))
}

// addressFlag begins the first argument that 'sidetone tray' passes.
const addressFlag = "--address="

// run shows the tray of the agent that 'sidetone tray' has found. If this program was started in any other way, it runs that verb, which
// reads the settings and knows all flags.
func run(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, and the agent's beside it: %w", err)
	}
	agent := brand.AgentOf(self)
	if code, is := host(agent, args); is {
		os.Exit(code)
	}
	if len(args) == 0 || !strings.HasPrefix(args[0], addressFlag) {
		return startedBy(self, agent, args)
	}
	requests, listenErr := installation.Listen() // before anybody else can take the names of its events
	o, lang, err := options(agent, args)
	if err != nil {
		return err
	}
	own, err := brand.Load(brand.Path(agent))
	if err != nil {
		return err
	}
	if o.Say, err = own.Printer(lang, append(texts.FromEnvironment(os.Getenv), system.Languages()...)); err != nil {
		return err
	}
	o.Self = self
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	var restart atomic.Bool
	if listenErr != nil {
		o.Log.Warn("an installer cannot end the tray in order", "reason", listenErr)
	} else {
		go func() {
			for r := range requests {
				restart.Store(r == installation.Upgrade)
				quit()
			}
		}()
	}
	if err = tray.Run(ctx, o); errors.Is(err, tray.ErrReplaced) || err == nil && restart.Load() {
		return system.Spawn(self, args)
	}
	return err
}

// startedBy has the agent's program start this one.
func startedBy(self, agent string, args []string) error {
	if _, err := os.Stat(agent); err != nil || agent == self {
		return fmt.Errorf("the tray is started by the agent's program, which is not there: %s: install both into one folder, "+
			"this one by the name of the other and %q", agent, filepath.Base(brand.TrayOf("")))
	}
	return start(agent, append([]string{"tray", "--detach"}, args...))
}

// options parses the arguments. Those behind the flags are the flags by which the agent's verbs find the same agent.
func options(agent string, args []string) (o tray.Options, lang string, err error) {
	flags := flag.NewFlagSet("tray", flag.ContinueOnError)
	flags.StringVar(&o.Address, "address", "", "the agent's control socket")
	flags.StringVar(&lang, "lang", "", "language")
	flags.StringVar((*string)(&o.Shade), "icon", "", "shade of the icon")
	if err := flags.Parse(args); err != nil {
		return o, "", err
	}
	program, same := brand.ProgramName(agent), flags.Args()
	o.Program, o.Version, o.Vendor, o.Getenv = program, version, paths.VendorOf(o.Address), os.Getenv
	o.Agent, o.Flags = agent, same
	o.Autostart = desktop.TrayEntry(program, brand.TrayCommand(agent), same)
	o.Diagnostics = func(ctx context.Context) ([]byte, error) {
		return output(exec.CommandContext(ctx, agent, append([]string{"status"}, same...)...))
	}
	o.Log = openLog(o.Vendor)
	return o, lang, nil
}

// output returns what a program prints. If it fails, the error is what it wrote to standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	system.Hide(cmd)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if why := strings.TrimSpace(complaint.String()); err != nil && why != "" {
		err = errors.New(why)
	}
	return text, err
}
