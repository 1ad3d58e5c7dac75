package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/devices"
)

func explainCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "explain ENDPOINT",
		Short: "Say why the client shows of an endpoint what it shows",
		Long: `Shows for one endpoint each field that is sent, its value, which rule it comes from, and what was
overruled; or why the endpoint is not reported. ENDPOINT is its id, the id that is sent, or a part of
its name that no other endpoint has.

Exit code 1 if no agent runs or there is no such endpoint.`,
		Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		d, err := c.Devices(cmd.Context())
		if err != nil {
			return err
		}
		e, err := findEndpoint(d, args[0])
		if err != nil {
			return err
		}
		return explain(cmd.OutOrStdout(), d, e, time.Now())
	})
}

// findEndpoint finds the one that name means.
func findEndpoint(d control.Devices, name string) (control.Endpoint, error) {
	reported := func(e control.Endpoint) string { r, _ := reportOf(d, e); return r.ID }
	for _, fits := range []func(control.Endpoint) bool{
		func(e control.Endpoint) bool { return e.ID == name },
		func(e control.Endpoint) bool { return e.Name == name || reported(e) == name },
		func(e control.Endpoint) bool { return strings.Contains(strings.ToLower(e.Name), strings.ToLower(name)) },
	} {
		var found []control.Endpoint
		for _, e := range d.Endpoints {
			if fits(e) {
				found = append(found, e)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			var ids []string
			for _, e := range found {
				ids = append(ids, fmt.Sprintf("%s (%s)", printable(e.ID), e.Type))
			}
			return control.Endpoint{}, fmt.Errorf("%q could be any of %s: name it by its id", name, strings.Join(ids, ", "))
		}
	}
	return control.Endpoint{}, fmt.Errorf("no endpoint %q; 'sidetone devices' lists them", name)
}

func reportOf(d control.Devices, e control.Endpoint) (devices.Report, bool) {
	i := slices.IndexFunc(d.Reported, func(r devices.Report) bool { return slices.Contains(r.Endpoints, e.Key()) })
	if i < 0 {
		return devices.Report{}, false
	}
	return d.Reported[i], true
}

func explain(w io.Writer, d control.Devices, e control.Endpoint, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s (%s), %s, source %s\n", printable(e.ID), e.Type, printable(e.Name), e.Source)
	r, reported := reportOf(d, e)
	if !reported {
		for _, held := range d.Withheld {
			if held.Key == e.Key() {
				fmt.Fprintf(t, "not reported: %s\n", held.Reason)
			}
		}
		return t.Flush()
	}
	fmt.Fprintf(t, "reported as product %s of the catalogue\n", r.Product)
	if len(r.Endpoints) > 1 {
		fmt.Fprintf(t, "together with %d more, which the client cannot tell apart\n", len(r.Endpoints)-1)
	}
	fmt.Fprintf(t, "  type\t%s\tof the endpoint\n", r.Type)
	fmt.Fprintf(t, "  id\t%s\tfrom the system\n", printable(r.ID))
	fmt.Fprintf(t, "  vendor\t%s, %s\tcatalogue: vendor\n", printable(r.Vendor.Name), printable(r.Vendor.URL))
	fmt.Fprintf(t, "  model\t%s, %s\tcatalogue: product %s\n", printable(r.Model.Name), printable(r.Model.URL), r.Product)
	fmt.Fprintf(t, "  related\t%s\tthe product's other endpoints in the list\n", printable(orElse(strings.Join(r.Related, ", "), "none")))
	for _, f := range devices.Fields {
		if _, may := r.Flags[f]; may {
			explainFlag(t, f, r.Flags[f], e.Considered[f], now)
		}
	}
	return t.Flush()
}

// explainFlag shows who decides about a flag, and what everybody else says of it.
func explainFlag(w io.Writer, f devices.Field, flag devices.Flag, all []devices.Considered, now time.Time) {
	fmt.Fprintf(w, "  %s\t%s\t%s\n", f, flag.Value, origin(flag, now))
	decided := false
	for _, c := range all {
		says := "does not know"
		if c.Flag.Value.Known() {
			says = fmt.Sprintf("%s, %s", c.Flag.Value, origin(c.Flag, now))
			if decided {
				says += ": overruled"
			} else {
				says += ": decides"
				decided = true
			}
		}
		fmt.Fprintf(w, "    %s\t\t%s\n", c.Rule, says)
	}
	if len(all) == 0 {
		fmt.Fprintf(w, "    \t\tthe catalogue names no source of it, and nobody pushes it\n")
	}
}
