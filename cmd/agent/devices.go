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
	s := resolver.Resolve(devices.Inputs{Endpoints: a.Endpoints})
	a.Devices, a.Withheld = s.Devices, slices.Concat([]devices.Withheld{}, s.Withheld)
	return a
}

func (a deviceAnswer) print(w io.Writer) {
	for _, s := range a.Sources {
		state := fmt.Sprintf("%d endpoints", s.Endpoints)
		if s.Error != "" {
			state = "unknown: " + s.Error
		}
		fmt.Fprintf(w, "source %-8s %s\n", s.Name, state)
		for _, n := range s.Notes {
			fmt.Fprintf(w, "       %-8s note: %s\n", "", n)
		}
	}
	byKey := make(map[devices.Key]devices.Endpoint)
	for _, e := range a.Endpoints {
		byKey[e.Key()] = e
	}
	fmt.Fprintf(w, "\nreported, in this order: %d\n", len(a.Devices))
	for i, r := range a.Devices {
		fmt.Fprintf(w, "\n%d. %s  %s\n", i+1, r.Type, r.Model.Name)
		fmt.Fprintf(w, "   id       %s\n", r.ID)
		fmt.Fprintf(w, "   product  %s of %s\n", r.Product, r.Vendor.Name)
		fmt.Fprintf(w, "   related  %s\n", orNone(strings.Join(r.Related, ", ")))
		for _, k := range r.Endpoints {
			printEndpoint(w, byKey[k])
		}
		for _, f := range devices.Fields {
			if flag, ok := r.Flags[f]; ok {
				fmt.Fprintf(w, "   %-24s %-8s %s\n", f, flag.Value, flag.Origin)
			}
		}
	}
	fmt.Fprintf(w, "\nnot reported: %d\n", len(a.Withheld))
	for _, h := range a.Withheld {
		fmt.Fprintf(w, "\n-  %s  %s\n   because  %s\n", h.Type, orNone(h.Name), h.Reason)
		printEndpoint(w, byKey[h.Key])
	}
}

// printEndpoint writes the facts from which a catalogue entry is made.
func printEndpoint(w io.Writer, e devices.Endpoint) {
	fmt.Fprintf(w, "   endpoint %s %s\n", e.Source, e.ID)
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
		fmt.Fprintf(w, "   os says  %s\n", strings.Join(facts, ", "))
	}
	for _, c := range sortedKeys(e.Controls) {
		fmt.Fprintf(w, "   control  %q %s\n", c, onOff(e.Controls[c]))
	}
	for _, f := range sortedKeys(e.Effects) {
		fmt.Fprintf(w, "   effect   %s %s\n", f, onOff(e.Effects[f]))
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
