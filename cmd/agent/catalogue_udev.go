package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

Exit code 2 if the catalogue has problems.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, problems, err := config.LoadCatalogue(args[0])
			if err := asInput(cmd.ErrOrStderr(), problems, err); err != nil {
				return err
			}
			return printUdev(cmd.OutOrStdout(), cat)
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

// printUdev writes the rules in the catalogue's order, each once.
func printUdev(w io.Writer, cat *devices.Catalogue) error {
	var b strings.Builder
	fmt.Fprintf(&b, udevHead, cat.Vendor.Name)
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
				rule := fmt.Sprintf("SUBSYSTEM==\"hidraw\", KERNELS==\"*:%s:%s.*\", TAG+=\"uaccess\"\n", strings.ToUpper(l.VID), strings.ToUpper(pid))
				if !slices.Contains(seen, rule) {
					seen = append(seen, rule)
					b.WriteString(rule)
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
