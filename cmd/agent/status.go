package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/rpcclient"
	"sidetone/internal/texts"
)

func statusCommand() *cobra.Command {
	return withJSON(askCommand(&cobra.Command{
		Use:   "status",
		Short: "Show what the running agent knows, and what its clients have",
		Long: `Shows the running agent: its sources, each plugged-in product with every flag's value, where that
comes from and since when, what the vendor's software has pushed, and the session with each client.

Exit code 1 if no agent runs.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		if wantsJSON(cmd) {
			st, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), st)
		}
		st, list, err := askStatusAndDevices(cmd.Context(), c)
		if err != nil {
			return err
		}
		return printStatus(cmd.OutOrStdout(), wordsFor(cmd), st, list, time.Now())
	}))
}

// statusTable prints a status. Names that commands and files use are the same in every language.
type statusTable struct {
	control.Status
	words
	list control.Devices
	t    *tabwriter.Writer
}

// printStatus prints st for people, with the details that list adds. Every value is shown with its origin.
func printStatus(w io.Writer, say health.Texts, st control.Status, list control.Devices, now time.Time) error {
	s := statusTable{st, words{say, now}, list, newTable(w)}
	s.row(s.Text("cli.head", texts.Args{
		"program": programName(), "version": st.Version, "pid": strconv.Itoa(st.PID), "vendor": st.Vendor, "age": age(st.Started, now),
	}))
	s.row(s.Text("cli.catalogue", texts.Args{"path": st.Catalogue}))
	if st.LogLevel != "" && st.LogLevel != string(config.LogInfo) {
		s.row(s.Text("cli.log_level", texts.Args{"level": st.LogLevel}))
	}
	if st.Pause != nil {
		s.row(s.pause(*st.Pause))
	}

	s.sources()
	s.products()
	s.hidDevices()
	if len(st.Pushes) > 0 {
		s.heading("cli.pushes")
	}
	for _, p := range st.Pushes {
		product := p.Product
		if p.Serial != "" {
			product += " (" + p.Serial + ")"
		}
		s.row("  "+product, p.Owner, s.push(p))
	}
	s.clients()
	s.conditions()
	return s.t.Flush()
}

func (s statusTable) row(cells ...string) { row(s.t, cells...) }

func (s statusTable) heading(key string) { fmt.Fprintln(s.t, "\n"+s.Text(key, nil)) }

func (s statusTable) sources() {
	s.heading("area.sources")
	for _, src := range s.Sources {
		says := s.source(src)
		if src.Reason != nil {
			says = s.because(src.Reason)
		}
		s.row("  "+src.Name, src.Condition, says)
		for _, remark := range src.Remarks {
			s.row("  ", "", s.because(&remark))
		}
	}
}

func (s statusTable) products() {
	s.heading("cli.products")
	if len(s.Products) == 0 {
		s.row("  " + s.Text("cli.products.none", nil))
	}
	for _, p := range s.Products {
		names := []string{p.ID}
		unit, serials := s.list.UnitNames(p, s.Products)
		if unit != "" {
			names = append(names, s.Text("cli.unit", texts.Args{"unit": unit}))
		}
		for _, serial := range serials {
			names = append(names, s.Text("cli.serial", texts.Args{"serial": serial}))
		}
		s.row(fmt.Sprintf("  %s (%s)", p.Name, s.Join("join.words", names)))
		for _, d := range p.Devices {
			s.row("    "+string(d.Type), d.ID)
			for _, f := range devices.Fields {
				if flag, may := d.Flags[f]; may {
					s.row("      "+string(f), flag.Value.String(), s.origin(flag, hasSource(s.list, d, f)))
				}
			}
		}
	}
}

func (s statusTable) hidDevices() {
	if len(s.HID) > 0 {
		s.heading("cli.hid")
	}
	for _, h := range s.HID {
		id := h.VID + ":" + h.PID
		if h.Interface >= 0 {
			id = s.Text("cli.hid.interface", texts.Args{"id": id, "n": strconv.Itoa(h.Interface)})
		}
		s.row("  "+h.Node, h.Name, id)
		if h.Reason != nil {
			s.row("  ", s.because(h.Reason))
		}
		for _, src := range h.Sources {
			says := s.Text("cli.hid.not_shown", nil)
			switch {
			case src.Value.Known():
				says = s.Join("join.words", []string{src.Via, s.age(src.Since)})
			case src.Remark != nil:
				says = s.after(src.Via, s.because(src.Remark))
			default:
				says = s.after(src.Via, says)
			}
			s.row("    "+src.Product+" "+src.Rule, src.Value.String(), says)
		}
	}
}

func (s statusTable) clients() {
	s.heading("area.clients")
	for _, c := range s.Clients.Sessions {
		s.row("  "+c.State, s.Client(c.Args()), s.session(c, s.Generation))
		if why := s.trouble(c); why != "" {
			s.row("  ", why)
		}
		s.remedy(c.Reason)
	}
	if c := s.Clients; len(c.Sessions) == 0 {
		s.row("  "+c.State, s.because(c.Reason))
		s.remedy(c.Reason)
	}
	for _, remark := range s.Clients.Remarks {
		s.row("  "+s.Text("cli.note", nil), s.because(&remark))
	}
}

// remedy prints what to do about a reason.
func (s statusTable) remedy(reason *control.Condition) {
	if reason == nil || reason.Remedy == "" {
		return
	}
	advice := reason.Remedy
	if s.Has(reason.Code) {
		advice = s.Advice(reason.Condition)
	}
	s.row("  ", s.Text("cli.remedy", texts.Args{"remedy": advice}))
}

func (s statusTable) conditions() {
	if len(s.Conditions) > 0 {
		s.heading("cli.conditions")
	}
	for _, c := range s.Conditions {
		message, remedy := s.condition(c)
		s.row("  "+s.Text("severity."+string(c.Severity), nil), message)
		if remedy != "" {
			s.row("  ", "-> "+remedy)
		}
	}
}

// hasSource reports whether any source exists for the flag of a device.
func hasSource(list control.Devices, d control.Device, f devices.Field) bool {
	return slices.ContainsFunc(list.Endpoints, func(e control.Endpoint) bool {
		r, is := list.ReportOf(e)
		return is && r.Type == d.Type && r.ID == d.ID && len(e.Considered[f]) > 0
	})
}

// source describes a working source.
func (s statusTable) source(src control.Source) string {
	if src.Name == "hid" {
		return s.Text("cli.devices", texts.Args{"devices": strconv.Itoa(len(s.HID))})
	}
	return s.Text("cli.endpoints", texts.Args{"endpoints": strconv.Itoa(src.Endpoints)})
}

func (s statusTable) push(p control.Push) string {
	args := texts.Args{}
	if !p.Until.IsZero() {
		args["lease"] = seconds(p.Until.Sub(s.now))
	}
	says := []string{s.Join("join.words", []string{p.Flags(), s.Text("cli.push", args)})}
	switch {
	case p.Units == 0:
		says = append(says, s.Text("cli.push.absent", nil))
	case p.Units > 1:
		says = append(says, s.Text("cli.push.ambiguous", texts.Args{"units": strconv.Itoa(p.Units)}))
	}
	return s.Join("join.phrases", says)
}

// trouble returns what keeps a client from getting its list, or "".
func (s statusTable) trouble(c control.Session) string {
	switch {
	case c.State == string(rpcclient.Connecting) && c.Reason == nil:
		return s.Text("cli.session.silent", nil)
	case c.State == string(rpcclient.Connecting) && c.TriedOtherwise():
		return s.Text("cli.session.other_way", texts.Args{"because": s.because(c.Reason)})
	default:
		return s.because(c.Reason)
	}
}

// session describes what a client has, and what comes next.
func (s statusTable) session(c control.Session, generation uint64) string {
	var parts []string
	if !c.Since.IsZero() {
		args := texts.Args{"age": age(c.Since, s.now), "muted": texts.List(c.Muted...)}
		parts = append(parts, s.Text("cli.session.slow", args))
	}
	if c.Since.IsZero() && len(c.Muted) > 0 {
		parts = append(parts, s.Text("cli.session.muted", texts.Args{"muted": texts.List(c.Muted...)}))
	}
	if !c.Delivered.IsZero() {
		has := []string{s.Text("cli.session.delivered", texts.Args{"devices": strconv.Itoa(c.Devices), "age": age(c.Delivered, s.now)})}
		if c.Generation < generation {
			has = append(has, s.Text("cli.session.older", nil))
		}
		parts = append(parts, s.Join("join.words", has))
	}
	if c.NextTry.After(s.now) {
		parts = append(parts, s.Text("cli.session.next_try", texts.Args{"wait": seconds(c.NextTry.Sub(s.now))}))
	}
	return s.Join("join.phrases", parts)
}

func age(since, now time.Time) string { return seconds(now.Sub(since)) }

func seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }
