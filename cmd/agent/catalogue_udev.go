package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
)

func catalogueUdevCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "udev FILE",
		Short: "Print the udev rules that let the agent read the HID devices of a catalogue (Linux)",
		Long: `Prints one rule for each USB or Bluetooth id of a product that has HID sources. It allows the user
logged in at the machine, and nobody else, to open those devices.

A package puts the output into /usr/lib/udev/rules.d/70-NAME-hid.rules. The number must be below 73.

Exit code 1 if no product has a HID source, 2 if the catalogue has problems.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, problems, err := catalogue.Load(args[0])
			if err := app.Input(problems, err); err != nil {
				return err
			}
			rules := cat.UdevRules()
			if rules == "" {
				return fmt.Errorf("%s: no product has a source of HID devices, so there is nothing that a udev rule would have to allow", args[0])
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), rules)
			return err
		},
	}
}
