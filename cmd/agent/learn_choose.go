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
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
)

// lookTimeout bounds the listing of HID devices.
const lookTimeout = 5 * time.Second

// headsetID is what the HID devices of one headset have in common, and those of others have not.
type headsetID struct {
	bus            devices.Bus
	vid, pid, unit string
}

func headsetOf(d hid.Device) headsetID {
	return headsetID{d.Bus, d.VID, d.PID, cmp.Or(d.Container, d.Serial)}
}

func (h headsetID) ids() string { return h.vid + ":" + h.pid }

// nameOfHID matches the ids or the node of a HID device, which on Windows is an instance id.
var nameOfHID = regexp.MustCompile(`^([0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}|(/dev/)?hidraw[0-9]+|\w+\\[^\\]+\\[^\\]+)$`)

// choose finds the headset that the user means. It opens no device.
func (l *learner) choose(ctx context.Context, name string) (headsetID, error) {
	if name != "" && !nameOfHID.MatchString(name) {
		return headsetID{}, badInput(fmt.Errorf("%q: want the ids of a device such as 1209:0700, or a node such as hidraw3", name))
	}
	all, err := l.look(ctx)
	if err != nil {
		return headsetID{}, err
	}
	fits := learn.LikelyHeadset
	if name != "" {
		fits = func(all []hid.Device) bool {
			return slices.ContainsFunc(all, func(d hid.Device) bool {
				return strings.EqualFold(name, headsetOf(d).ids()) || strings.EqualFold(strings.TrimPrefix(name, "/dev/"), d.Node)
			})
		}
	}
	var found [][]hid.Device
	for _, headset := range byHeadset(all) {
		if fits(headset) {
			found = append(found, headset)
		}
	}
	if len(found) == 1 {
		return headsetOf(found[0][0]), nil
	}
	printHID(l.messages, all)
	switch {
	case len(all) == 0:
		return headsetID{}, errors.New("there is no HID device: plug in the headset or its dongle")
	case len(found) > 1 && name != "":
		return headsetID{}, badInput(fmt.Errorf("%d devices are %s: name one by a node, such as %s", len(found), name, found[0][0].Node))
	case name != "":
		return headsetID{}, badInput(fmt.Errorf("no HID device is %s: name one of the list by its ids or its node", name))
	default:
		return headsetID{}, badInput(fmt.Errorf("%d devices look like a headset: "+
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
	_, err = src.Read(ctx)
	return all, err
}

// byHeadset groups devices by headset, in their order.
func byHeadset(all []hid.Device) (groups [][]hid.Device) {
	for _, d := range all {
		i := slices.IndexFunc(groups, func(g []hid.Device) bool { return headsetOf(g[0]) == headsetOf(d) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

func printHID(w io.Writer, all []hid.Device) {
	t := newTable(w)
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
