package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestControlsThatAreNoSwitches(t *testing.T) {
	mode := catalogue.ALSACtl{Name: "Mic Mode", On: []string{"Muted", "Off"}, Off: []string{"Live"}}
	level := catalogue.ALSACtl{Name: "Mic Level", On: []string{"0"}, Off: []string{"1", "2"}}
	for name, c := range map[string]struct {
		ctl  catalogue.ALSACtl
		set  func(*devices.Endpoint)
		want devices.Tri
	}{
		"an item that is on":        {mode, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, devices.True},
		"an item that is off":       {mode, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Mode": "Live"} }, devices.False},
		"an item of neither":        {mode, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Mode": "Test"} }, devices.Unknown},
		"a number that is on":       {level, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Level": "0"} }, devices.True},
		"a number that is off":      {level, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Level": "2"} }, devices.False},
		"a number of neither":       {level, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Level": "-1"} }, devices.Unknown},
		"no such control":           {mode, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mode": "Off"} }, devices.Unknown},
		"it is a switch":            {mode, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Mic Mode": devices.True} }, devices.Unknown},
		"a switch is no setting":    {catalogue.ALSACtl{Name: "Mic Mode"}, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, devices.Unknown},
		"nothing is known of it":    {mode, func(*devices.Endpoint) {}, devices.Unknown},
		"an empty value is unknown": {mode, func(e *devices.Endpoint) { e.Settings = map[string]string{"Mic Mode": ""} }, devices.Unknown},
	} {
		ctl := c.ctl
		rules := []catalogue.SourceRule{{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{ALSACtl: &ctl}}}
		require.Equal(t, c.want, flagOf(t, devices.HardwareMute, devices.Linux, rules, c.set).Value, name)
	}
}

// Sound servers set the capture switch, too: without the vendor's word it says nothing of the button, and with it both may have set it.
func TestCaptureSwitchIsSharedWithTheOS(t *testing.T) {
	open := func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Mic Capture Switch": devices.False} }
	for _, shared := range []bool{false, true} {
		ctl := catalogue.ALSACtl{Name: "Mic Capture Switch", Invert: true, SharedWithButton: shared}
		flag := flagOf(t, devices.HardwareMute, devices.Linux, []catalogue.SourceRule{{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{ALSACtl: &ctl}}}, open)
		if !shared {
			require.Equal(t, devices.Flag{}, flag)
			continue
		}
		require.Equal(t, devices.True, flag.Value)
		require.Equal(t, "alsa_ctl (Mic Capture Switch, set by the button or in the sound settings)", flag.Origin.String())
	}
}

// A setting keeps its time until it changes.
func TestSettingsHaveAnAge(t *testing.T) {
	t1, t2 := time.Unix(1, 0), time.Unix(2, 0)
	mic := func(value string) []devices.Endpoint {
		return []devices.Endpoint{{ID: "mic", Type: devices.AudioInput, Settings: map[string]string{"Mode": value}}}
	}
	first := devices.Carry(nil, mic("Live"), t1)
	require.Equal(t, map[string]time.Time{"setting:Mode": t1}, first[0].Changed)
	require.Equal(t, t1, devices.Carry(first, mic("Live"), t2)[0].Changed["setting:Mode"])
	require.Equal(t, t2, devices.Carry(first, mic("Off"), t2)[0].Changed["setting:Mode"])
}
