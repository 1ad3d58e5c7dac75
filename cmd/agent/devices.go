package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
)

// secondLook is how long 'devices' waits for what a source learns only after its first List,
// such as miniaudio's own enumeration.
const secondLook = 300 * time.Millisecond

// deviceAnswer is the JSON of 'sidetone devices'. Endpoints are in the form that an endpoint
// file takes.
type deviceAnswer struct {
	Sources   []sourceAnswer     `json:"sources"`
	Endpoints []devices.Endpoint `json:"endpoints"`
	Devices   []devices.Report   `json:"devices"`
	Withheld  []devices.Withheld `json:"withheld"`

	considered map[devices.Key]map[devices.Field][]devices.Considered
}

type sourceAnswer struct {
	Name      string   `json:"name"`
	Endpoints int      `json:"endpoints"`
	Error     string   `json:"error,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

func devicesCommand() *cobra.Command {
	var asJSON bool
	var in settingsFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show what the OS says about endpoints and what the catalogue makes of it",
		Long: `Reads all sources once and shows every endpoint, whether it would be reported, and for each
reported flag its value and where that comes from. Works without a running agent, and without a
catalogue: then it shows what there is to describe.

Exit code 1 if a source could not be read: what it would list is unknown.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := in.load(cmd, catalogueOptional)
			if err != nil {
				return err
			}
			sources, err := platform.Sources(set.platform(), set.log)
			if err != nil {
				return err
			}
			resolver, err := set.resolver()
			if err != nil {
				return err
			}
			answer := look(cmd.Context(), sources, resolver)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), answer)
			} else {
				answer.print(cmd.OutOrStdout())
			}
			if err == nil && slices.ContainsFunc(answer.Sources, func(s sourceAnswer) bool { return s.Error != "" }) {
				return silent(exitFailed)
			}
			return err
		},
	}
	in.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// look reads all sources at once, gives each a moment for a second reading, and closes them.
func look(ctx context.Context, sources []platform.Source, resolver *devices.Resolver) deviceAnswer {
	var mu sync.Mutex
	last := make(map[string]devices.Observation)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first, followers sync.WaitGroup
	for _, src := range sources {
		once := sync.OnceFunc(first.Done)
		first.Add(1)
		followers.Go(func() {
			platform.Follow(ctx, src, nil, func(o devices.Observation) {
				mu.Lock()
				last[o.Source] = o
				mu.Unlock()
				once()
			})
		})
	}
	first.Wait()
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
	}
	cancel()
	followers.Wait()

	a := deviceAnswer{Endpoints: []devices.Endpoint{}, Sources: []sourceAnswer{}}
	for _, src := range sources {
		o := last[src.Name()]
		s := sourceAnswer{Name: src.Name(), Endpoints: len(o.Endpoints), Notes: o.Notes}
		if o.Err != nil {
			s.Error = o.Err.Error()
		}
		a.Sources = append(a.Sources, s)
		a.Endpoints = append(a.Endpoints, o.Endpoints...)
	}
	in := devices.Inputs{Endpoints: a.Endpoints}
	s := resolver.Resolve(in)
	a.Devices, a.Withheld, a.considered = s.Devices, slices.Concat([]devices.Withheld{}, s.Withheld), resolver.Explain(in)
	return a
}

func (a deviceAnswer) print(w io.Writer) {
	for _, s := range a.Sources {
		state := count(s.Endpoints, "endpoint")
		if s.Error != "" {
			state = "unknown: " + s.Error
		}
		line(w, "source %-8s %s", s.Name, state)
		for _, n := range s.Notes {
			line(w, "       %-8s note: %s", "", n)
		}
	}
	byKey := make(map[devices.Key]devices.Endpoint)
	for _, e := range a.Endpoints {
		byKey[e.Key()] = e
	}
	fmt.Fprintln(w)
	line(w, "reported, in this order: %d", len(a.Devices))
	for i, r := range a.Devices {
		fmt.Fprintln(w)
		line(w, "%d. %s  %s", i+1, r.Type, r.Model.Name)
		line(w, "   id       %s", r.ID)
		line(w, "   product  %s of %s", r.Product, r.Vendor.Name)
		line(w, "   related  %s", orNone(strings.Join(r.Related, ", ")))
		for _, k := range r.Endpoints {
			printEndpoint(w, byKey[k])
		}
		for _, f := range devices.Fields {
			if flag, ok := r.Flags[f]; ok {
				hasSource := slices.ContainsFunc(r.Endpoints, func(k devices.Key) bool { return len(a.considered[k][f]) > 0 })
				line(w, "   %-24s %-8s %s", f, flag.Value, origin(flag, hasSource, time.Now()))
			}
		}
	}
	fmt.Fprintln(w)
	line(w, "not reported: %d", len(a.Withheld))
	for _, h := range a.Withheld {
		fmt.Fprintln(w)
		line(w, "-  %s  %s", h.Type, orNone(h.Name))
		line(w, "   because  %s", h.Reason)
		printEndpoint(w, byKey[h.Key])
	}
}

// printEndpoint writes the facts from which a catalogue entry is made.
func printEndpoint(w io.Writer, e devices.Endpoint) {
	line(w, "   endpoint %s %s", e.Source, e.ID)
	var facts []string
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, name+" "+value)
		}
	}
	add("bus", string(e.Bus))
	add("vid", e.VID)
	add("pid", e.PID)
	add("serial", e.Serial)
	add("container", e.Container)
	add("bus_info", e.BusInfo)
	add("master", e.Master)
	if e.Virtual {
		facts = append(facts, "virtual")
	}
	if e.Default {
		facts = append(facts, "default")
	}
	if e.Type == devices.AudioInput {
		where := "in software"
		if e.MuteInHardware {
			where = "in hardware"
		}
		add("os mute", e.Mute.String()+" "+where)
	}
	add("seen by", strings.Join(e.SeenBy, "+"))
	if len(facts) > 0 {
		line(w, "   os says  %s", strings.Join(facts, ", "))
	}
	for _, c := range sortedKeys(e.Controls) {
		line(w, "   control  %q %s", c, onOff(e.Controls[c]))
	}
	for _, c := range sortedKeys(e.Settings) {
		line(w, "   control  %q %q", c, e.Settings[c])
	}
	for _, f := range sortedKeys(e.Effects) {
		line(w, "   effect   %s %s", f, onOff(e.Effects[f]))
	}
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func onOff(t devices.Tri) string {
	switch t {
	case devices.True:
		return "on"
	case devices.False:
		return "off"
	default:
		return "unknown"
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
