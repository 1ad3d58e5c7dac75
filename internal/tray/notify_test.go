package tray

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/texts"
)

func notifying(mute devices.Tri, change ...func(*view)) view {
	return viewOf(append([]func(*view){
		products(headset(1, "Acme Headset 700", mute), headset(2, "Acme Desk", devices.True)),
		func(v *view) { v.Status.NotifyMute = true },
	}, change...)...)
}

func TestPressed(t *testing.T) {
	const muted, unmuted = "Acme Headset 700 is muted", "Acme Headset 700 is no longer muted"
	on, off, unknown := notifying(devices.True), notifying(devices.False), notifying(devices.Unknown)
	unwanted := func(v *view) { v.Status.NotifyMute = false }
	paused := func(v *view) { v.Status.Pause = &control.Pause{} }
	for name, c := range map[string]struct {
		before, now view
		want        string
	}{
		"muted":              {off, on, muted},
		"unmuted":            {on, off, unmuted},
		"the same":           {on, on, ""},
		"not known before":   {unknown, on, ""},
		"not known any more": {on, unknown, ""},
		"plugged in muted":   {notifying(devices.False, products()), on, ""},
		"not wanted":         {off, notifying(devices.True, unwanted), ""},
		"paused":             {off, notifying(devices.True, paused), ""},
		"no client":          {off, notifying(devices.True, clients()), ""},
		"client not ready":   {off, notifying(devices.True, clients(control.Session{State: "connecting"})), ""},
		"agent was away":     {notifying(devices.False, agent(agentDown)), on, ""},
		"agent is away":      {off, notifying(devices.True, agent(agentDown)), ""},
	} {
		require.Equal(t, c.want, muteNotice(c.before, c.now, texts.For(texts.English)), name)
	}
}

// TestNotificationsAreLimited: a button that is hammered shows one notification in two seconds, and at last how it is.
func TestNotificationsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		shown := make(chan string, 9)
		l := newLimiter()
		go l.run(ctx, func(text string) { shown <- text })
		say := func(list ...string) {
			for _, text := range list {
				l.add(text)
				synctest.Wait()
			}
		}
		requireShown := func(want ...string) {
			synctest.Wait()
			for _, text := range want {
				require.Equal(t, text, <-shown)
			}
			require.Empty(t, shown)
		}
		say("on", "off", "on", "off")
		requireShown("on")
		time.Sleep(noticeInterval)
		requireShown("off")
		say("on", "off")
		time.Sleep(time.Hour)
		requireShown() // that it is off stands there already
		say("off")
		requireShown("off")
	})
}
