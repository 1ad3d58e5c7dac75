package main

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient"
)

func (d *diagnosis) pushes() {
	for _, p := range d.Status.Pushes {
		who := fmt.Sprintf("What %s pushes for %s", p.Owner, p.Product+serialOf(p))
		isOf := func(r devices.Report) bool { return r.Product == p.Product }
		known := orElse(strings.Join(serials(d.Devices, isOf), ", "), "none is known")
		idle := d.withoutEffect(p)
		switch {
		case p.Units == 0 && slices.ContainsFunc(d.Devices.Reported, isOf):
			d.add(stepPushes, doubtful, "Have the software give one of those, or plug that unit in", "%s waits: what is plugged in of that product has other serial numbers: %s", who, known)
		case p.Units == 0:
			d.add(stepPushes, doubtful, "Plug the product in; if it is, compare the product's id, and the serial, with what 'sidetone devices' shows", "%s waits: no such product is plugged in", who)
		case p.Units > 1:
			d.add(stepPushes, wrong, fmt.Sprintf("The software has to give the serial of the one that it means (%s), or say it again when the others are unplugged", known), "%s has no effect: %s that are plugged in could be meant", who, count(p.Units, "product"))
		case len(idle) > 0:
			d.add(stepPushes, doubtful, "'sidetone explain' of its microphone shows who decides; a flag may also be left out by report.fields, and a product without a microphone has none",
				"%s has no effect on %s: somebody who pushed later decides, or it is not sent at all", who, strings.Join(idle, ", "))
		default:
			d.add(stepPushes, fine, "", "%s is in force: %s", who, pushWords(p, d.Now))
		}
	}
}

// withoutEffect are the flags of a push that no microphone of its product has from it.
func (d *diagnosis) withoutEffect(p control.Push) []string {
	var idle []string
	for _, f := range devices.Fields {
		counts := func(r devices.Report) bool {
			o := r.Flags[f].Origin
			return r.Product == p.Product && o.Via == devices.ViaPush && o.Detail == p.Owner
		}
		if p.State[f].Known() && !slices.ContainsFunc(d.microphones(), counts) {
			idle = append(idle, string(f))
		}
	}
	return idle
}

func (d *diagnosis) clients() {
	c := d.Status.Clients
	switch {
	case len(c.Sessions) > 0:
	case c.Error == "":
		d.add(stepClients, doubtful, "Run this again in some seconds", "The search for clients has just begun, none has been found yet")
	default:
		d.add(stepClients, wrong, orElse(c.Remedy, "Start the client; it is found by itself"), "%s", capital(c.Error))
	}
	served := slices.ContainsFunc(c.Sessions, func(s control.Session) bool {
		return s.State == string(rpcclient.Ready) || s.State == string(rpcclient.Degraded)
	})
	for _, s := range c.Sessions {
		d.session(s, served)
	}
	for _, n := range c.Notes {
		how, remedy := doubtful, "Do as it says, then restart the client"
		if strings.HasPrefix(n, "port ") {
			remedy = "Nothing to do while a client is served; else end that program, then restart the client"
		}
		if served {
			how = hint
		}
		d.add(stepClients, how, remedy, "Where a client might be: %s", n)
	}
}

// session judges the conversation with one client. One that gets nothing is a problem unless
// another one is served.
func (d *diagnosis) session(s control.Session, served bool) {
	who, how := peerWords(s), wrong
	if s.Name == "" {
		who = capital(who)
	}
	if served {
		how = hint
	}
	current := s.Generation >= d.Status.Generation
	switch rpcclient.State(s.State) {
	case rpcclient.Ready:
		if !current {
			d.add(stepClients, doubtful, "Run this again in some seconds; if it stays so, restart the client", "%s is connected, but has not accepted the latest list yet", who)
			return
		}
		d.add(stepClients, fine, "", "%s has accepted the latest list, of %s, %s ago", who, count(s.Devices, "device"), age(s.Delivered, d.Now))
	case rpcclient.Degraded:
		list := "has the latest list"
		if !current {
			list = "does not have the latest list yet"
		}
		if !s.NextTry.IsZero() {
			list += ", and takes the next one in " + seconds(s.NextTry.Sub(d.Now))
		}
		d.add(stepClients, doubtful, orElse(s.Remedy, "Allow ipc in rpc.transports, or have an origin registered and set it in the catalogue"), "%s is told of changes late: it %s", who, list)
	case rpcclient.Slow:
		d.add(stepClients, wrong, orElse(s.Remedy, "Wait, or restart the client"), "%s hangs, and may show an older state: %s", who, slowWords(s, d.Now))
	case rpcclient.Connecting:
		d.add(stepClients, doubtful, orElse(s.Remedy, "Run this again in some seconds; if it stays so, restart the client"), "%s was found, but has no list yet%s", who, because(trouble(s)))
	case rpcclient.Unsupported:
		d.add(stepClients, how, orElse(s.Remedy, "Use the official client"), "%s does not know certified devices%s", who, because(s.Error))
	case rpcclient.Foreign:
		d.add(stepClients, how, orElse(s.Remedy, "Run an agent in that user's session"), "%s belongs to another user and is told nothing", who)
	case rpcclient.Waiting:
		d.add(stepClients, how, "Nothing to do if it is the client that is served already; to report to all, set rpc.clients to all", "%s is not served: another client is, or it may be the same one", who)
	default:
		d.add(stepClients, wrong, orElse(s.Remedy, "Restart the client; if it refuses again, save 'sidetone bundle FILE.zip --yes' for support"), "%s refuses%s", who, because(s.Error))
	}
}

func because(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}

// user says what only the user can look at (rules R64, R65).
func (d *diagnosis) user() {
	for _, r := range d.microphones() {
		name := orElse(d.endpoint(r).Name, r.ID)
		d.add(stepUser, hint, fmt.Sprintf("In the client's settings, Voice & Video, set the input device to %q itself", name),
			"The client shows a mute of %q only while that is selected, and never while \"Default\" is", name)
		if slices.ContainsFunc(r.Endpoints, func(k devices.Key) bool { return d.endpoints[k].Default }) {
			d.add(stepUser, hint, fmt.Sprintf("Set it to %q, although the sound is the same", name),
				"%q is the system's default microphone: with \"Default\" the client records from it and still shows nothing, a likely trap", name)
		}
	}
	if len(d.microphones()) > 0 {
		d.add(stepUser, hint, "Join a voice channel, unmute yourself in the client, see that its settings do not switch the notice off, then press the mute button of the device",
			"The notice of a mute is shown only in a call, only if you are not muted in the client, and only if it is not switched off there")
	}
}
