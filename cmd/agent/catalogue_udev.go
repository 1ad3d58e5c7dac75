package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

func catalogueUdevCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "udev FILE",
		Short: "Print the udev rules that let the agent read the HID devices of a catalogue (Linux)",
		Long: `Prints one rule for each USB or Bluetooth id of a product that has sources of HID devices. With it,
the user who is logged in at the machine may open those devices, and nobody else.

A package puts the output into /usr/lib/udev/rules.d/70-NAME.rules. The number must be below 73.

Exit code 1 if no product has a source of HID devices, 2 if the catalogue has problems.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, problems, err := config.LoadCatalogue(args[0])
			if err := app.Input(problems, err); err != nil {
				return err
			}
			rules := udevRules(cat)
			if rules == "" {
				return fmt.Errorf("%s: no product has a source of HID devices, so there is nothing that a udev rule would have to allow", args[0])
			}
			fmt.Fprintf(cmd.OutOrStdout(), udevHead, cat.Vendor.Name)
			fmt.Fprint(cmd.OutOrStdout(), rules)
			return nil
		},
	}
}

const udevHead = `# Lets the user who sits at the machine read the HID devices of %s, so that sidetone needs no privileges.
#
# The kernel names a HID device BUS:VENDOR:PRODUCT.NUMBER, in upper-case hex digits. One line fits a product over
# USB and over Bluetooth.
#
# This belongs into /usr/lib/udev/rules.d, and its name must sort before 73-seat-late.rules, which acts on the tag.
# Devices that are attached already need: udevadm control --reload && udevadm trigger --subsystem-match=hidraw
`

// udevRules are those of a catalogue in its order, each once. It is empty if no product needs one.
func udevRules(cat *devices.Catalogue) string {
	var b strings.Builder
	var seen []string
	for _, p := range cat.Products {
		alone := *cat
		alone.Products = []devices.Product{p}
		if hid.NewRules(&alone, devices.Linux).Empty() {
			continue
		}
		fmt.Fprintf(&b, "\n# %s\n", p.Name)
		for _, l := range p.Links {
			for _, pid := range l.PIDs {
				rule := udevRule(l.VID, pid)
				if !slices.Contains(seen, rule) {
					seen = append(seen, rule)
					b.WriteString(rule + "\n")
				}
			}
		}
	}
	return b.String()
}

// udevRule lets the user who sits at the machine open the HID devices of a model.
func udevRule(vid, pid string) string {
	return fmt.Sprintf(`SUBSYSTEM=="hidraw", KERNELS=="*:%s:%s.*", TAG+="uaccess"`, strings.ToUpper(vid), strings.ToUpper(pid))
}
