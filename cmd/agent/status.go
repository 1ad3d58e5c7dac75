package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/devices"
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
		st, err := c.Status(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), st)
		}
		return printStatus(cmd.OutOrStdout(), st, time.Now())
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printStatus writes st for people. Every value says where it comes from.
func printStatus(w io.Writer, st control.Status, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "sidetone %s (pid %d), %s, up %s\ncatalogue %s\n", st.Version, st.PID, st.Vendor, age(st.Started, now), st.Catalogue)

	fmt.Fprintln(t, "\nsources")
	for _, s := range st.Sources {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", printable(s.Name), s.Condition, printable(orElse(s.Error, sourceWords(s, st))))
		for _, n := range s.Notes {
			fmt.Fprintf(t, "  \t\t%s\n", printable(n))
		}
	}

	fmt.Fprintln(t, "\nproducts")
	if len(st.Products) == 0 {
		fmt.Fprintln(t, "  none is plugged in ('sidetone devices' shows what there is)")
	}
	for _, p := range st.Products {
		fmt.Fprintf(t, "  %s (%s)\n", printable(p.Name), p.ID)
		for _, d := range p.Devices {
			fmt.Fprintf(t, "    %s\t%s\n", d.Type, printable(d.ID))
			for _, f := range devices.Fields {
				if flag, may := d.Flags[f]; may {
					fmt.Fprintf(t, "      %s\t%s\t%s\n", f, flag.Value, origin(flag, now))
				}
			}
		}
	}

	if len(st.HID) > 0 {
		fmt.Fprintln(t, "\nHID devices")
	}
	for _, h := range st.HID {
		fmt.Fprintf(t, "  %s\t%s\t%s:%s%s\n", h.Node, printable(h.Name), h.VID, h.PID, interfaceOf(h))
		if h.Error != "" {
			fmt.Fprintf(t, "  \t%s\n", printable(h.Error))
		}
		for _, s := range h.Sources {
			says := s.Via
			switch {
			case s.Value.Known():
				says += ", for " + age(s.Since, now)
			case s.Note != "":
				says += ": " + printable(s.Note)
			default:
				says += ": the device has not shown it yet"
			}
			fmt.Fprintf(t, "    %s %s\t%s\t%s\n", s.Product, s.Rule, s.Value, says)
		}
	}

	if len(st.Pushes) > 0 {
		fmt.Fprintln(t, "\npushed by the vendor's software")
	}
	for _, p := range st.Pushes {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", p.Product+serialOf(p), printable(p.Owner), pushWords(p, now))
	}

	fmt.Fprintln(t, "\nclients")
	for _, s := range st.Clients.Sessions {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", s.State, printable(peerWords(s)), sessionWords(s, st.Generation, now))
		if s.Error != "" {
			fmt.Fprintf(t, "  \t%s\n", printable(s.Error))
		}
		if s.Remedy != "" {
			fmt.Fprintf(t, "  \twhat to do: %s\n", printable(s.Remedy))
		}
	}
	if len(st.Clients.Sessions) == 0 {
		fmt.Fprintf(t, "  %s\t%s\n", st.Clients.State, printable(st.Clients.Error))
		if st.Clients.Remedy != "" {
			fmt.Fprintf(t, "  \twhat to do: %s\n", printable(st.Clients.Remedy))
		}
	}
	for _, n := range st.Clients.Notes {
		fmt.Fprintf(t, "  note\t%s\n", printable(n))
	}
	return t.Flush()
}

// sourceWords is what a source that works has to show.
func sourceWords(s control.Source, st control.Status) string {
	switch s.Name {
	case "hid":
		return fmt.Sprintf("%d devices", len(st.HID))
	case "state-file":
		return "states, see below"
	}
	return fmt.Sprintf("%d endpoints", s.Endpoints)
}

func origin(f devices.Flag, now time.Time) string {
	if !f.Value.Known() {
		return "not sent: nobody knows"
	}
	s := printable(f.Origin.String())
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
	return " (" + printable(p.Serial) + ")"
}

func pushWords(p control.Push, now time.Time) string {
	var says []string
	for _, f := range devices.Fields {
		if v, ok := p.State[f]; ok {
			says = append(says, fmt.Sprintf("%s %s", f, v))
		}
	}
	lease := "for as long as its connection lives"
	if !p.Until.IsZero() {
		lease = "for another " + seconds(p.Until.Sub(now))
	}
	switch {
	case p.Units == 0:
		lease += "; the product is not plugged in"
	case p.Units > 1:
		lease += fmt.Sprintf("; no effect: %d products could be meant", p.Units)
	}
	return strings.Join(says, ", ") + ", " + lease
}

func peerWords(s control.Session) string {
	who := orElse(s.Name, "a client")
	if s.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", s.PID)
	}
	switch {
	case s.Socket != "":
		return who + " over ipc " + s.Socket
	case s.Transport != "":
		return fmt.Sprintf("%s over %s on port %d", who, s.Transport, s.Port)
	default:
		return fmt.Sprintf("%s on port %d", who, s.Port)
	}
}

func sessionWords(s control.Session, generation uint64, now time.Time) string {
	var parts []string
	if !s.Delivered.IsZero() {
		part := fmt.Sprintf("%d devices, delivered %s ago", s.Devices, age(s.Delivered, now))
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

func age(since, now time.Time) string { return seconds(now.Sub(since)) }

func seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
