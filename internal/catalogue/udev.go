package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

const udevHead = `# Lets the user who sits at the machine read the HID devices of %s, so that the agent needs no privileges.
#
# The kernel names a HID device BUS:VENDOR:PRODUCT.NUMBER, in upper-case hex digits. One line fits a product over
# USB and over Bluetooth.
#
# This belongs into /usr/lib/udev/rules.d, and its name must sort before 73-seat-late.rules, which acts on the tag.
# Devices that are attached already need: udevadm control --reload && udevadm trigger --subsystem-match=hidraw
`

// UdevRules returns the udev rules (Linux) that let the user of the local seat open the HID devices of the catalogue's
// products, without duplicates. Empty: no product has a source that reads HID devices.
func (c *Catalogue) UdevRules() string {
	var b strings.Builder
	var seen []string
	for _, p := range c.Products {
		if HIDRules(&Catalogue{Products: []Product{p}}, devices.Linux).Empty() {
			continue
		}
		fmt.Fprintf(&b, "\n# %s\n", p.Name)
		for _, l := range p.Links {
			for _, pid := range l.PIDs {
				if rule := UdevRule(l.VID, pid); !slices.Contains(seen, rule) {
					seen = append(seen, rule)
					b.WriteString(rule + "\n")
				}
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(udevHead, c.Vendor.Name) + b.String()
}

// UdevRule returns the udev rule that lets the user of the local seat open the HID devices of a model.
func UdevRule(vid, pid string) string {
	return fmt.Sprintf(`SUBSYSTEM=="hidraw", KERNELS=="*:%s:%s.*", TAG+="uaccess"`, strings.ToUpper(vid), strings.ToUpper(pid))
}
