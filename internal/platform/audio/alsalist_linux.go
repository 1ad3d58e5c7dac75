package audio

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
)

// alsaDelay is how long after the agent's start a sound server may leave its first trace.
const alsaDelay = 10 * time.Second

// An alsaPCM is one direction of a PCM in ALSA's list.
type alsaPCM struct {
	name        string // "hw:CARD=Headset,DEV=0"
	description string // "Acme Headset 700, USB Audio (Direct hardware device without any conversions)"
	typ         devices.Type
}

// alsaList lists ALSA's endpoints on a machine without a sound server. A trace of one bars it for the life of the process: a server that
// restarts or starts late lists the same devices under other ids.
type alsaList struct {
	pcms   func() ([]alsaPCM, error) // nil: not possible in this build, or not wanted; may hang
	notify func()
	tree   linux.Tree
	start  time.Time
	barred bool
	guard  platform.CallGuard
	cards  *linux.Hotplug // not nil while it lists
}

func newALSAList(pcms func() ([]alsaPCM, error), notify func()) *alsaList {
	return &alsaList{pcms: pcms, notify: notify, tree: linux.TreeIn("/"), start: time.Now(), guard: platform.NewCallGuard()}
}

// bar ends the listing for good.
func (l *alsaList) bar() {
	l.barred = true
	l.close()
}

// wait returns how long it is until the first listing; 0: it is due, or never will be.
func (l *alsaList) wait() time.Duration {
	if l.barred || l.pcms == nil {
		return 0
	}
	return max(alsaDelay-time.Since(l.start), 0)
}

// due reports whether there is a list to read.
func (l *alsaList) due() bool { return !l.barred && l.pcms != nil && l.wait() == 0 }

// read lists the endpoints. Nothing is known of their flags.
func (l *alsaList) read(ctx context.Context) ([]devices.Endpoint, error) {
	if l.cards == nil {
		isControl := func(node string) bool { return strings.HasPrefix(node, "controlC") }
		log := slog.New(slog.DiscardHandler) // cards that come unheard are found at the next try of the sound server
		l.cards = linux.WatchHotplug("sound card", "sound", l.tree.Dev+"/snd", isControl, log, l.notify)
	}
	pcms, err := platform.CallWithContext(ctx, l.guard, l.notify, l.pcms)
	if err != nil {
		return nil, platform.Trouble(fmt.Errorf("there is no sound server, and ALSA cannot be listed: %w", err), health.SoundServerAway, nil)
	}
	return alsaEndpoints(pcms, l.tree), nil
}

// alsaEndpoints returns one endpoint for each direction of a card's PCM. ALSA has further names for the same hardware (default,
// sysdefault, plughw, dmix), and some for none (null). Not every distribution lists the plainest, hw; the others list front.
func alsaEndpoints(pcms []alsaPCM, tree linux.Tree) []devices.Endpoint {
	list := []devices.Endpoint{}
	for _, p := range pcms {
		plugin, place, _ := strings.Cut(p.name, ":")
		card, isCard := strings.CutPrefix(place, "CARD=")
		if plugin != "hw" && plugin != "front" || !isCard {
			continue
		}
		e := devices.Endpoint{ID: "hw:" + place, Type: p.typ, Name: p.description, SeenBy: []string{"alsa"}}
		if slices.ContainsFunc(list, func(other devices.Endpoint) bool { return other.Key() == e.Key() }) {
			continue
		}
		if at := strings.LastIndex(e.Name, " ("); at > 0 {
			e.Name = e.Name[:at]
		}
		card, _, _ = strings.Cut(card, ",")
		if usb, ok := usbOfCard(tree, card); ok {
			e.Bus, e.VID, e.PID, e.Serial, e.Container = devices.USB, usb.VID, usb.PID, usb.Serial, usb.Container
		}
		list = append(list, e)
	}
	return list
}

// usbOfCard returns the USB device of the card with an id such as "Headset".
func usbOfCard(tree linux.Tree, id string) (linux.USBDevice, bool) {
	entries, _ := tree.Class("sound")
	for _, path := range entries {
		if linux.Attribute(path, "id") == id {
			return linux.USBParent(path)
		}
	}
	return linux.USBDevice{}, false
}

// notes says that it is ALSA that lists.
func (l *alsaList) notes() []health.Condition {
	if l.cards == nil {
		return nil
	}
	return []health.Condition{{Code: health.SoundServerNone, Severity: health.Info}}
}

func (l *alsaList) close() {
	if l.cards != nil {
		_ = l.cards.Close()
		l.cards = nil
	}
}
