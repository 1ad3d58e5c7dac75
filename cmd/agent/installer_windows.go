package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/brand"
	"sidetone/internal/installation"
	"sidetone/internal/service"
)

// installerCommands are what the package for Windows Installer runs, as the system. They are hidden: docs/packaging.md says what each does.
func installerCommands() []*cobra.Command {
	cmd := &cobra.Command{
		Use: "installer", Short: "What the package for Windows Installer does", Hidden: true, Args: knownVerb, RunE: needsVerb,
	}
	type action = func(ctx context.Context, folder string, programs []string) error
	step := func(name, short string, do action) *cobra.Command {
		c := &cobra.Command{Use: name, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error {
			self, err := host.Executable()
			if err != nil {
				return err
			}
			programs := []string{filepath.Base(self), filepath.Base(brand.TrayOf(self)), filepath.Base(brand.ServiceOf(self))}
			return do(c.Context(), filepath.Dir(self), programs)
		}}
		cmd.AddCommand(c)
		return c
	}
	var code string
	end := step("end", "Have agents and trays of all users end, and leave no list in clients",
		func(_ context.Context, folder string, programs []string) error {
			if other := installedPackage(); code != "" && other != "" && other != code {
				return nil // it was upgraded to another package, whose programs these are
			}
			// The service is Windows' to stop, which else would start it again.
			if err := installation.EndAll(running(folder, programs[:2])); err != nil {
				return err
			}
			return installation.RemoveAside(folder)
		})
	end.Flags().StringVar(&code, "package", "", "only if that package is the one that is installed")
	step("make-way", "Put programs that run out of the way of new ones", func(_ context.Context, folder string, programs []string) error {
		if err := installation.RemoveAside(folder); err != nil {
			return err
		}
		return installation.SetAside(folder, programs)
	})
	step("hand-over", "Have agents and trays of all users go on as the new programs",
		func(_ context.Context, folder string, programs []string) error {
			if err := installation.UpgradeAll(running(folder, programs)); err != nil {
				return err
			}
			return installation.RemoveAside(folder)
		})
	step("add-task", "Have a task start the agent for all users", func(ctx context.Context, _ string, _ []string) error {
		var in settingsFlags
		flags := &cobra.Command{}
		in.add(flags)
		args, _, err := in.runArguments(flags)
		if err != nil {
			return err
		}
		return withTask(ctx, args, service.Installer.Install)
	})
	step("remove-task", "Take that back", func(ctx context.Context, _ string, _ []string) error {
		return withTask(ctx, nil, service.Installer.Uninstall)
	})
	return []*cobra.Command{cmd}
}

func running(folder string, programs []string) func() ([]installation.Process, error) {
	return func() ([]installation.Process, error) { return installation.Running(folder, programs) }
}

// withTask changes how the agent is started; the tray is the package's own affair.
func withTask(ctx context.Context, args []string, plan func(service.Installer, context.Context) (service.Plan, error)) error {
	a, err := thisAgent(args, nil)
	if err != nil {
		return err
	}
	a.Tray.Command, a.Tray.ID = nil, a.Name
	i, err := service.NewGlobal(a, service.Task)
	if err != nil {
		return err
	}
	p, err := plan(i, ctx)
	if err != nil {
		return fmt.Errorf("the task that starts the agent: %w", err)
	}
	return p.Do(ctx)
}

// installedPackage is the code of the package that was installed last; "": none says so.
func installedPackage() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `Software\`+programName(), registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	code, _, _ := key.GetStringValue("Package")
	return code
}
