package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/testlab"
	"sidetone/internal/timeline"
)

// TestPageIsBounded: also of a day on which 40 products with long names do nothing but toggle, and two clients follow them.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	if testlab.RanUnraced(t) { // there is one goroutine only
		return
	}
	p := newPast(24 * time.Hour)
	clients := []timeline.Client{
		{ID: "1", Name: "Discord", State: "ready", Holds: true},
		{ID: "2", Name: "Discord PTB", State: "ready", Holds: true},
	}
	p.Clients(func() []timeline.Client { return clients })
	var names [40]string
	for n := range names {
		names[n] = fmt.Sprint(n, strings.Repeat("語", 298))
	}
	var last devices.Snapshot
	for i := range 24 * 60 {
		p.at(0, i, 0)
		last = devices.Snapshot{}
		for n, name := range names {
			last.Devices = append(last.Devices, set(fmt.Sprint("u", n), fmt.Sprint("acme-", n), name, devices.Of((i+n)%2 == 0), devices.True))
		}
		p.Snapshot(last)
		for _, c := range clients {
			p.Acknowledged(c, last)
		}
	}
	in := Input{Now: madeAt, Timeline: p.Timeline(), Status: control.Status{Products: control.ProductsOf(last.Devices)}}
	require.Less(t, len(english(in).HTML()), 4<<20)
}

// TestLongTexts: in a recording that somebody else has made a name may have any length.
func TestLongTexts(t *testing.T) {
	page := english(hostile(strings.Repeat("語", 1<<20))).HTML()
	require.Less(t, len(page), 1<<18)
	require.Contains(t, string(page), strings.Repeat("語", maxText)+"…")
	require.Equal(t, long, clean(long))
	require.Equal(t, strings.Repeat("a", maxText), clean(strings.Repeat("a", maxText)))
}
