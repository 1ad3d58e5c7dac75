package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
)

// lookTimeout bounds the listing of HID devices.
const lookTimeout = 5 * time.Second

// oneHeadset is what the HID devices of one headset have in common, and those of others have not.
type oneHeadset struct {
	bus            devices.Bus
	vid, pid, unit string
}

func headsetOf(d hid.Device) oneHeadset {
	return oneHeadset{d.Bus, d.VID, d.PID, cmp.Or(d.Container, d.Serial)}
}

func (h oneHeadset) ids() string { return h.vid + ":" + h.pid }

// nameOfHID matches the ids or the node of a HID device, which on Windows is an instance id.
var nameOfHID = regexp.MustCompile(`^([0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}|(/dev/)?hidraw[0-9]+|\w+\\[^\\]+\\[^\\]+)$`)

// choose finds the headset that the user means. It opens no device.
func (l *learner) choose(ctx context.Context, name string) (oneHeadset, error) {
	if name != "" && !nameOfHID.MatchString(name) {
		return oneHeadset{}, badInput(fmt.Errorf("%q: want the ids of a device such as 1209:0700, or a node such as hidraw3", name))
	}
	all, err := l.look(ctx)
	if err != nil {
		return oneHeadset{}, err
	}
	fits := learn.LikelyHeadset
	if name != "" {
		fits = func(all []hid.Device) bool {
			return slices.ContainsFunc(all, func(d hid.Device) bool {
				return strings.EqualFold(name, headsetOf(d).ids()) || strings.EqualFold(strings.TrimPrefix(name, "/dev/"), d.Node)
			})
		}
	}
	var found []oneHeadset
	for _, h := range headsets(all) {
		if fits(partsOf(h, all)) {
			found = append(found, h)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	printHID(l.talk, all)
	switch {
	case len(all) == 0:
		return oneHeadset{}, errors.New("there is no HID device: plug in the headset or its dongle")
	case len(found) > 1 && name != "":
		node := partsOf(found[0], all)[0].Node
		return oneHeadset{}, badInput(fmt.Errorf("%d devices are %s: name one by a node, such as %s", len(found), name, node))
	case name != "":
		return oneHeadset{}, badInput(fmt.Errorf("no HID device is %s: name one of the list by its ids or its node", name))
	default:
		return oneHeadset{}, badInput(fmt.Errorf("%d devices look like a headset: "+
			"name the one to learn from by its ids or its node, as in 'sidetone learn %s'", len(found), headsetOf(all[0]).ids()))
	}
}

// look lists the HID devices.
func (l *learner) look(ctx context.Context) ([]hid.Device, error) {
	var all []hid.Device
	src, err := l.open(func(d hid.Device) bool { all = append(all, d); return false }, func(hid.Event) {})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err = src.Read(ctx)
	return all, err
}

func headsets(all []hid.Device) []oneHeadset {
	var out []oneHeadset
	for _, d := range all {
		if h := headsetOf(d); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

func partsOf(h oneHeadset, all []hid.Device) []hid.Device {
	var out []hid.Device
	for _, d := range all {
		if headsetOf(d) == h {
			out = append(out, d)
		}
	}
	return out
}

func printHID(w io.Writer, all []hid.Device) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range all {
		facts := ""
		if d.Interface >= 0 {
			facts = fmt.Sprintf("interface %d", d.Interface)
		}
		phone := ""
		if learn.HasPhoneMute(d) {
			phone = "declares Phone Mute"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Node, headsetOf(d).ids(), printable(cmp.Or(d.Name, "without a name")), facts, phone)
	}
	_ = t.Flush()
}
