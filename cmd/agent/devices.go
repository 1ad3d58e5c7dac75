package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// deviceAnswer is the JSON of 'sidetone devices'. Endpoints have the format of an endpoint file.
type deviceAnswer struct {
	Sources   []control.Source   `json:"sources"`
	Endpoints []devices.Endpoint `json:"endpoints"`
	Devices   []devices.Report   `json:"devices"`
	Withheld  []devices.Withheld `json:"withheld"`
}

func devicesCommand() *cobra.Command {
	return withJSON(withSettings(&cobra.Command{
		Use:   "devices",
		Short: "Show what the OS says about endpoints and what the catalogue makes of it",
		Long: `Reads all sources once and shows every endpoint, whether it would be reported, and for each
reported flag its value and where that comes from. It works without a running agent; without a
catalogue it shows what there is to describe.

Exit code 1 if a source could not be read: what it would list is unknown.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			sources, found, err := app.ReadDevices(cmd.Context(), set, host, logger(cmd.ErrOrStderr(), set.Config.Log, set.Config.Log.Level.Slog()))
			if err != nil {
				return err
			}
			failed := slices.ContainsFunc(sources, func(s control.Source) bool { return s.Reason != nil })
			return failedIf(failed, respond(cmd, newDeviceAnswer(sources, found), func(w io.Writer) error {
				printDevices(w, sources, found)
				return nil
			}))
		},
	}))
}

func newDeviceAnswer(sources []control.Source, found control.Devices) deviceAnswer {
	a := deviceAnswer{Sources: sources, Endpoints: []devices.Endpoint{}, Devices: found.Reported, Withheld: found.Withheld}
	for _, e := range found.Endpoints {
		a.Endpoints = append(a.Endpoints, e.Endpoint)
	}
	return a
}

func printDevices(w io.Writer, sources []control.Source, found control.Devices) {
	for _, s := range sources {
		state := count(s.Endpoints, "endpoint")
		if s.Reason != nil {
			state = "unknown: " + health.English.Phrase(s.Reason.Known())
		}
		line(w, "source %-8s %s", s.Name, state)
		for _, remark := range s.Remarks {
			line(w, "       %-8s note: %s", "", health.English.Phrase(remark.Known()))
		}
	}
	byKey := make(map[devices.Key]control.Endpoint)
	for _, e := range found.Endpoints {
		byKey[e.Key()] = e
	}
	fmt.Fprintln(w)
	line(w, "reported, in this order: %d", len(found.Reported))
	for i, r := range found.Reported {
		fmt.Fprintln(w)
		line(w, "%d. %s  %s", i+1, r.Type, r.Model.Name)
		line(w, "   id       %s", r.ID)
		line(w, "   product  %s of %s", r.Product, r.Vendor.Name)
		line(w, "   related  %s", cmp.Or(strings.Join(r.Related, ", "), "none"))
		for _, k := range r.Endpoints {
			printEndpoint(w, byKey[k].Endpoint)
		}
		for _, f := range devices.Fields {
			if flag, ok := r.Flags[f]; ok {
				hasSource := slices.ContainsFunc(r.Endpoints, func(k devices.Key) bool { return len(byKey[k].Considered[f]) > 0 })
				line(w, "   %-24s %-8s %s", f, flag.Value, words{health.English, time.Now()}.origin(flag, hasSource))
			}
		}
	}
	fmt.Fprintln(w)
	line(w, "not reported: %d", len(found.Withheld))
	for _, h := range found.Withheld {
		fmt.Fprintln(w)
		line(w, "-  %s  %s", h.Type, cmp.Or(h.Name, "none"))
		line(w, "   because  %s", h.Reason)
		printEndpoint(w, byKey[h.Key].Endpoint)
	}
	printCards(w, found.WithoutMicrophone)
}

// printCards prints which cards have no microphone although their products have one.
func printCards(w io.Writer, cards []devices.Hardware) {
	for _, h := range cards {
		fmt.Fprintln(w)
		line(w, "-  card  %s", cmp.Or(h.Name, h.VID+":"+h.PID))
		if h.OutputsOnly {
			line(w, "   because  none of its profiles has a microphone")
		} else {
			line(w, "   because  its profile has no microphone")
		}
	}
}

// printEndpoint prints the facts needed to write a catalogue entry.
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
	return map[devices.Tri]string{devices.True: "on", devices.False: "off", devices.Unknown: "unknown"}[t]
}
