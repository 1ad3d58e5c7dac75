package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/health"
)

func explainCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "explain ENDPOINT",
		Short: "Say why the client shows of an endpoint what it shows",
		Long: `Shows for one endpoint each field that is sent, its value, which rule it comes from, and what was
overruled; or why the endpoint is not reported. ENDPOINT is its id, the id that is sent, or a part of
its name that no other endpoint has.

Exit codes: 1 no agent runs, or there is no such endpoint; 2 the input is wrong.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeByAgent(endpointArguments),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		if strings.TrimSpace(args[0]) == "" {
			return badInput(errors.New("ENDPOINT is empty: " +
				"give an endpoint's id, the id that is sent, or a part of its name; 'sidetone devices' lists them"))
		}
		g := doctor.Facts{Now: time.Now()}
		if err := askFacts(cmd.Context(), c, &g); err != nil {
			return err
		}
		e, err := findEndpoint(g.Devices, args[0])
		if err != nil {
			return err
		}
		loadCatalogue(&g)
		return explain(cmd.OutOrStdout(), g, e)
	})
}

// findEndpoint finds the one that name means.
func findEndpoint(d control.Devices, name string) (control.Endpoint, error) {
	reported := func(e control.Endpoint) string { r, _ := d.ReportOf(e); return r.ID }
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

// explain says of e what is sent and why.
func explain(w io.Writer, f doctor.Facts, e control.Endpoint) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, fmt.Sprintf("%s (%s), %s, source %s", e.ID, e.Type, e.Name, e.Source))
	r, reported := f.Devices.ReportOf(e)
	if !reported {
		for _, held := range f.Devices.Withheld {
			if held.Key == e.Key() {
				row(t, "not reported: "+held.Reason)
			}
		}
		return t.Flush()
	}
	row(t, fmt.Sprintf("reported as product %s of the catalogue", r.Product))
	if len(r.Endpoints) > 1 {
		row(t, fmt.Sprintf("together with %d more, which the client cannot tell apart", len(r.Endpoints)-1))
	}
	row(t, "  type", string(r.Type), "of the endpoint")
	row(t, "  id", r.ID, "from the system")
	row(t, "  vendor", r.Vendor.Name+", "+r.Vendor.URL, "catalogue: vendor")
	row(t, "  model", r.Model.Name+", "+r.Model.URL, "catalogue: product "+r.Product)
	row(t, "  related", cmp.Or(strings.Join(r.Related, ", "), "none"), "the product's other endpoints in the list")
	for _, field := range devices.Fields {
		if flag, may := r.Flags[field]; may {
			explainFlag(t, f, r, e, field, flag)
		}
	}
	return t.Flush()
}

// explainFlag shows who decides about a flag, and what everybody else says of it.
func explainFlag(t *tabwriter.Writer, f doctor.Facts, r devices.Report, e control.Endpoint, field devices.Field, flag devices.Flag) {
	all := e.Considered[field]
	row(t, "  "+string(field), flag.Value.String(), origin(flag, len(all) > 0, f.Now))
	decided := false
	for _, c := range all {
		if !c.Flag.Value.Known() {
			kind, why := doctor.Why(f, r.Product, e, field, c.Rule)
			row(t, "    "+strings.TrimSpace(c.Rule+" "+kind), "", strings.TrimSuffix("does not know: "+health.English.Reason(why), ": "))
			continue
		}
		verdict := "overruled"
		if !decided {
			verdict, decided = "decides", true
		}
		row(t, "    "+c.Rule, "", fmt.Sprintf("%s, %s: %s", c.Flag.Value, origin(c.Flag, true, f.Now), verdict))
	}
	if len(all) == 0 {
		row(t, "    ", "", "the catalogue names no source of it, and nobody pushes it")
	}
}
