package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient"
)

func statusCommand() *cobra.Command {
	var asJSON bool
	cmd := askCommand(&cobra.Command{
		Use:   "status",
		Short: "Show what the running agent knows, and what its clients have",
		Long: `Shows the running agent: its sources, each product that is plugged in with every flag's value,
where that comes from and since when, what the vendor's software has pushed, and the session with
each client.

Exit code 1 if no agent runs.`,
		Args: noArgs,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		if asJSON {
			st, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), st)
		}
		st, list, err := askBoth(cmd.Context(), c)
		if err != nil {
			return err
		}
		return printStatus(cmd.OutOrStdout(), st, list, time.Now())
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printStatus writes st for people, with what list adds to it. Every value says where it comes from.
func printStatus(w io.Writer, st control.Status, list control.Devices, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, fmt.Sprintf("sidetone %s (pid %d), %s, up %s", st.Version, st.PID, st.Vendor, age(st.Started, now)))
	row(t, "catalogue "+st.Catalogue)
	if st.LogLevel != "" && st.LogLevel != string(config.LogInfo) {
		row(t, "log level "+st.LogLevel)
	}
	if st.Pause != nil {
		row(t, "reporting is paused "+pauseWords(*st.Pause))
	}

	printSources(t, st)
	printProducts(t, st, list, now)
	printHIDDevices(t, st, now)
	if len(st.Pushes) > 0 {
		fmt.Fprintln(t, "\npushed by the vendor's software")
	}
	for _, p := range st.Pushes {
		row(t, "  "+p.Product+serialOf(p), p.Owner, pushWords(p, now))
	}
	printClients(t, st, now)
	printConditions(t, st)
	return t.Flush()
}

func printSources(t *tabwriter.Writer, st control.Status) {
	fmt.Fprintln(t, "\nsources")
	for _, s := range st.Sources {
		row(t, "  "+s.Name, s.Condition, cmp.Or(s.Error, sourceWords(s, st)))
		for _, n := range s.Notes {
			row(t, "  ", "", n)
		}
	}
}

func printProducts(t *tabwriter.Writer, st control.Status, list control.Devices, now time.Time) {
	fmt.Fprintln(t, "\nproducts")
	if len(st.Products) == 0 {
		row(t, "  none is plugged in ('sidetone devices' shows what there is)")
	}
	for _, p := range st.Products {
		row(t, fmt.Sprintf("  %s (%s)", p.Name, strings.Join(append([]string{p.ID}, list.UnitWords(p, st.Products)...), ", ")))
		for _, d := range p.Devices {
			row(t, "    "+string(d.Type), d.ID)
			for _, f := range devices.Fields {
				if flag, may := d.Flags[f]; may {
					row(t, "      "+string(f), flag.Value.String(), origin(flag, hasSource(list, d, f), now))
				}
			}
		}
	}
}

func printHIDDevices(t *tabwriter.Writer, st control.Status, now time.Time) {
	if len(st.HID) > 0 {
		fmt.Fprintln(t, "\nHID devices")
	}
	for _, h := range st.HID {
		row(t, "  "+h.Node, h.Name, h.VID+":"+h.PID+interfaceOf(h))
		if h.Error != "" {
			row(t, "  ", h.Error)
		}
		for _, s := range h.Sources {
			says := s.Via
			switch {
			case s.Value.Known():
				says += ", for " + age(s.Since, now)
			case s.Note != "":
				says += ": " + s.Note
			default:
				says += ": the device has not shown it yet"
			}
			row(t, "    "+s.Product+" "+s.Rule, s.Value.String(), says)
		}
	}
}

func printClients(t *tabwriter.Writer, st control.Status, now time.Time) {
	fmt.Fprintln(t, "\nclients")
	for _, s := range st.Clients.Sessions {
		row(t, "  "+s.State, s.Client(), sessionWords(s, st.Generation, now))
		if why := trouble(s); why != "" {
			row(t, "  ", why)
		}
		if s.Remedy != "" {
			row(t, "  ", "what to do: "+s.Remedy)
		}
	}
	if len(st.Clients.Sessions) == 0 {
		row(t, "  "+st.Clients.State, st.Clients.Error)
		if st.Clients.Remedy != "" {
			row(t, "  ", "what to do: "+st.Clients.Remedy)
		}
	}
	for _, n := range st.Clients.Notes {
		row(t, "  note", n)
	}
}

func printConditions(t *tabwriter.Writer, st control.Status) {
	if len(st.Conditions) > 0 {
		fmt.Fprintln(t, "\nwhat to look at")
	}
	for _, c := range st.Conditions {
		row(t, "  "+string(c.Severity), c.Message)
		if c.Remedy != "" {
			row(t, "  ", "-> "+c.Remedy)
		}
	}
}

// hasSource reports whether anything could know the flag of a device.
func hasSource(list control.Devices, d control.Device, f devices.Field) bool {
	return slices.ContainsFunc(list.Endpoints, func(e control.Endpoint) bool {
		r, is := list.ReportOf(e)
		return is && r.Type == d.Type && r.ID == d.ID && len(e.Considered[f]) > 0
	})
}

// sourceWords is what a source that works has to show.
func sourceWords(s control.Source, st control.Status) string {
	switch s.Name {
	case "hid":
		return count(len(st.HID), "device")
	case "state-file":
		return "states, see below"
	}
	return count(s.Endpoints, "endpoint")
}

// origin is where the value of a flag comes from. hasSource tells whether anything could know it.
func origin(f devices.Flag, hasSource bool, now time.Time) string {
	switch {
	case f.Value.Known():
	case hasSource:
		return "not sent: no source knows"
	default:
		return "not sent: no source"
	}
	s := f.Origin.String()
	if !f.Since.IsZero() {
		s += ", for " + age(f.Since, now)
	}
	return s
}

func interfaceOf(h control.HID) string {
	if h.Interface < 0 {
		return ""
	}
	return fmt.Sprintf(", interface %d", h.Interface)
}

func serialOf(p control.Push) string {
	if p.Serial == "" {
		return ""
	}
	return " (" + p.Serial + ")"
}

func pushWords(p control.Push, now time.Time) string {
	lease := "for as long as its connection lives"
	if !p.Until.IsZero() {
		lease = "for another " + seconds(p.Until.Sub(now))
	}
	switch {
	case p.Units == 0:
		lease += "; the product is not plugged in"
	case p.Units > 1:
		lease += fmt.Sprintf("; no effect: %s could be meant", count(p.Units, "product"))
	}
	return p.Flags() + ", " + lease
}

// trouble is what stands between a client and its list; "" if nothing does.
func trouble(s control.Session) string {
	switch {
	case s.State != string(rpcclient.Connecting):
		return s.Error
	case s.Error == "":
		return "it has not answered yet"
	case s.Transport == "" && s.Socket != "": // the error may be of the port, which is not shown
		return "what was tried last: " + s.Error
	default:
		return s.Error
	}
}

func sessionWords(s control.Session, generation uint64, now time.Time) string {
	var parts []string
	if !s.Since.IsZero() {
		parts = append(parts, slowWords(s, now))
	}
	if !s.Delivered.IsZero() {
		part := fmt.Sprintf("%s, delivered %s ago", count(s.Devices, "device"), age(s.Delivered, now))
		if s.Generation < generation {
			part += ", not yet the latest list"
		}
		parts = append(parts, part)
	}
	if s.NextTry.After(now) {
		parts = append(parts, fmt.Sprintf("next try in %s", seconds(s.NextTry.Sub(now))))
	}
	return strings.Join(parts, "; ")
}

// slowWords says since when an answer is overdue, and what the client may hold meanwhile.
func slowWords(s control.Session, now time.Time) string {
	words := fmt.Sprintf("no answer for %s", age(s.Since, now))
	if len(s.Muted) > 0 {
		words += ", may take for muted: " + strings.Join(s.Muted, ", ")
	}
	return words
}

func age(since, now time.Time) string { return seconds(now.Sub(since)) }

func seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }
