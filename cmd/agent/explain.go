package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

func explainCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "explain ENDPOINT",
		Short: "Explain what the client shows for an endpoint, and why",
		Long: `Shows for one endpoint each field that is sent, its value, which rule it comes from, and which were
overruled; or why the endpoint is not reported. ENDPOINT is its id, the id that is sent, or a part of
its name that no other endpoint has.

Exit codes: 1 no agent runs, or there is no such endpoint; 2 the input is wrong.`,
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
		return explain(cmd.OutOrStdout(), wordsFor(cmd), g, e)
	})
}

// findEndpoint finds the endpoint that name refers to.
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

// explanation prints an endpoint.
type explanation struct {
	words
	doctor.Facts
	t *tabwriter.Writer
}

// explain prints what is sent of e, and why.
func explain(w io.Writer, say health.Texts, f doctor.Facts, e control.Endpoint) error {
	t := newTable(w)
	x := explanation{words{say, f.Now}, f, t}
	row(t, say.Text("cli.explain.head", texts.Args{"id": e.ID, "type": string(e.Type), "name": e.Name, "source": e.Source}))
	r, reported := f.Devices.ReportOf(e)
	if !reported {
		for _, held := range f.Devices.Withheld {
			if held.Key == e.Key() {
				row(t, say.Text("cli.explain.withheld", texts.Args{"because": say.Join("join.phrases", say.Phrases(doctor.WhyWithheld(held)))}))
			}
		}
		return t.Flush()
	}
	row(t, say.Text("cli.explain.product", texts.Args{"product": r.Product}))
	if n := len(r.Endpoints) - 1; n > 0 {
		row(t, say.Text("cli.explain.together", texts.Args{"n": strconv.Itoa(n)}))
	}
	from := func(key string) string { return say.Text("cli.explain."+key, texts.Args{"product": r.Product}) }
	row(t, "  type", string(r.Type), from("type"))
	row(t, "  id", r.ID, from("id"))
	row(t, "  vendor", r.Vendor.Name+", "+r.Vendor.URL, from("vendor"))
	row(t, "  model", r.Model.Name+", "+r.Model.URL, from("model"))
	row(t, "  related", cmp.Or(strings.Join(r.Related, ", "), from("unrelated")), from("related"))
	for _, field := range devices.Fields {
		if flag, may := r.Flags[field]; may {
			x.flag(r, e, field, flag)
		}
	}
	return t.Flush()
}

// flag prints which source decides a flag, and what the others say.
func (x explanation) flag(r devices.Report, e control.Endpoint, field devices.Field, flag devices.Flag) {
	all := e.Considered[field]
	origin, verdict := x.origin(flag, len(all) > 0), "cli.explain.decides"
	if others, ok := doctor.WhyOthers(x.Facts, r, e, field); ok {
		origin, verdict = x.Phrase(others), "cli.explain.overruled"
	}
	row(x.t, "  "+string(field), flag.Value.String(), origin)
	for _, c := range all {
		if !c.Flag.Value.Known() {
			kind, why := doctor.Why(x.Facts, r.Product, e, field, c.Rule)
			args := texts.Args{}
			if why.Code != "" {
				args["because"] = x.Reason(why)
			}
			row(x.t, "    "+strings.TrimSpace(c.Rule+" "+kind), "", x.Text("cli.explain.unknown", args))
			continue
		}
		row(x.t, "    "+c.Rule, "", x.Text(verdict, texts.Args{"value": c.Flag.Value.String(), "origin": x.origin(c.Flag, true)}))
		verdict = "cli.explain.overruled"
	}
	if len(all) == 0 {
		row(x.t, "    ", "", x.Text("cli.explain.sourceless", nil))
	}
}
