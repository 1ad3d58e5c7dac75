package tray

import (
	"context"
	"slices"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/texts"
)

// noticeInterval is how long a notification stays at least before the next one replaces it.
const noticeInterval = 2 * time.Second

// muteNotice returns the notification for a user who has just pressed a mute button, or "". A mute that was unknown before is no press, and
// without a client nobody hears the user anyway.
func muteNotice(before, now view, say texts.Printer) string {
	heard := now.Status.Pause == nil && slices.ContainsFunc(now.Status.Clients.Sessions, control.Session.Connected)
	if !now.Status.NotifyMute || !heard || before.Agent != agentUp || now.Agent != agentUp {
		return ""
	}
	old := mutes(before.Status)
	for _, p := range now.Status.Products {
		for _, d := range p.Devices {
			args := texts.Args{"product": name(p.Name)}
			switch was, is := old[[2]string{p.Unit, d.ID}], d.Flags[devices.HardwareMute].Value; {
			case was == devices.False && is == devices.True:
				return say.Text("tray.notify.muted", args)
			case was == devices.True && is == devices.False:
				return say.Text("tray.notify.unmuted", args)
			}
		}
	}
	return ""
}

// mutes returns the mutes of all microphones, by unit and id.
func mutes(s control.Status) map[[2]string]devices.Tri {
	all := make(map[[2]string]devices.Tri)
	for _, p := range s.Products {
		for _, d := range p.Devices {
			if flag, may := d.Flags[devices.HardwareMute]; may {
				all[[2]string{p.Unit, d.ID}] = flag.Value
			}
		}
	}
	return all
}

// limiter passes texts on, at most one in noticeInterval. Of those that come faster only the last is kept, unless it is the one that is
// shown.
type limiter chan string

func newLimiter() limiter { return make(limiter, 1) }

// add never blocks. One goroutine may call it.
func (l limiter) add(text string) { replace(l, text) }

// run calls show until ctx ends.
func (l limiter) run(ctx context.Context, show func(string)) {
	var shown, held string
	var over <-chan time.Time // nil: nothing is shown
	for {
		select {
		case text := <-l:
			if over != nil {
				held = text
				continue
			}
			shown = text
		case <-over:
			over = nil
			if held == "" || held == shown {
				held = ""
				continue
			}
			shown, held = held, ""
		case <-ctx.Done():
			return
		}
		show(shown)
		over = time.After(noticeInterval)
	}
}
