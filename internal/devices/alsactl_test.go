package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestControlsThatAreNoSwitches(t *testing.T) {
	mode := catalogue.ALSACtl{Name: "Mic Mode", On: []string{"Muted", "Off"}, Off: []string{"Live"}}
	level := catalogue.ALSACtl{Name: "Mic Level", On: []string{"0"}, Off: []string{"1", "2"}}
	for name, c := range map[string]struct {
		ctl  catalogue.ALSACtl
		set  func(*Endpoint)
		want Tri
	}{
		"an item that is on":        {mode, func(e *endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, True},
		"an item that is off":       {mode, func(e *endpoint) { e.Settings = map[string]string{"Mic Mode": "Live"} }, False},
		"an item of neither":        {mode, func(e *endpoint) { e.Settings = map[string]string{"Mic Mode": "Test"} }, Unknown},
		"a number that is on":       {level, func(e *endpoint) { e.Settings = map[string]string{"Mic Level": "0"} }, True},
		"a number that is off":      {level, func(e *endpoint) { e.Settings = map[string]string{"Mic Level": "2"} }, False},
		"a number of neither":       {level, func(e *endpoint) { e.Settings = map[string]string{"Mic Level": "-1"} }, Unknown},
		"no such control":           {mode, func(e *endpoint) { e.Settings = map[string]string{"Mode": "Off"} }, Unknown},
		"it is a switch":            {mode, control("Mic Mode", True), Unknown},
		"a switch is no setting":    {catalogue.ALSACtl{Name: "Mic Mode"}, func(e *endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, Unknown},
		"nothing is known of it":    {mode, asItIs, Unknown},
		"an empty value is unknown": {mode, func(e *endpoint) { e.Settings = map[string]string{"Mic Mode": ""} }, Unknown},
	} {
		ctl := c.ctl
		rules := rules{{Field: HardwareMute, SourceKind: kind{ALSACtl: &ctl}}}
		require.Equal(t, c.want, flagOf(t, HardwareMute, Linux, rules, c.set).Value, name)
	}
}

// Sound servers set the capture switch, too: without the vendor's word it says nothing of the button, and with it both may have set it.
func TestCaptureSwitchIsSharedWithTheOS(t *testing.T) {
	open := control("Mic Capture Switch", False)
	for _, shared := range []bool{false, true} {
		ctl := catalogue.ALSACtl{Name: "Mic Capture Switch", Invert: true, SharedWithButton: shared}
		flag := flagOf(t, HardwareMute, Linux, rules{{Field: HardwareMute, SourceKind: kind{ALSACtl: &ctl}}}, open)
		if !shared {
			require.Equal(t, Flag{}, flag)
			continue
		}
		require.Equal(t, True, flag.Value)
		require.Equal(t, "alsa_ctl (Mic Capture Switch, set by the button or in the sound settings)", flag.Origin.String())
	}
}

// A setting keeps its time until it changes.
func TestSettingsHaveAnAge(t *testing.T) {
	t1, t2 := time.Unix(1, 0), time.Unix(2, 0)
	mic := func(value string) []Endpoint {
		return endpoints{{ID: "mic", Type: AudioInput, Settings: map[string]string{"Mode": value}}}
	}
	first := Carry(nil, mic("Live"), t1)
	require.Equal(t, map[string]time.Time{"setting:Mode": t1}, first[0].Changed)
	require.Equal(t, t1, Carry(first, mic("Live"), t2)[0].Changed["setting:Mode"])
	require.Equal(t, t2, Carry(first, mic("Off"), t2)[0].Changed["setting:Mode"])
}
