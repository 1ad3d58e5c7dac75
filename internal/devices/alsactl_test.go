package devices

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestControlsThatAreNoSwitches(t *testing.T) {
	mode := ALSACtl{Name: "Mic Mode", On: []string{"Muted", "Off"}, Off: []string{"Live"}}
	level := ALSACtl{Name: "Mic Level", On: []string{"0"}, Off: []string{"1", "2"}}
	for name, c := range map[string]struct {
		ctl  ALSACtl
		set  func(*Endpoint)
		want Tri
	}{
		"an item that is on":        {mode, func(e *Endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, True},
		"an item that is off":       {mode, func(e *Endpoint) { e.Settings = map[string]string{"Mic Mode": "Live"} }, False},
		"an item of neither":        {mode, func(e *Endpoint) { e.Settings = map[string]string{"Mic Mode": "Test"} }, Unknown},
		"a number that is on":       {level, func(e *Endpoint) { e.Settings = map[string]string{"Mic Level": "0"} }, True},
		"a number that is off":      {level, func(e *Endpoint) { e.Settings = map[string]string{"Mic Level": "2"} }, False},
		"a number of neither":       {level, func(e *Endpoint) { e.Settings = map[string]string{"Mic Level": "-1"} }, Unknown},
		"no such control":           {mode, func(e *Endpoint) { e.Settings = map[string]string{"Mode": "Off"} }, Unknown},
		"it is a switch":            {mode, func(e *Endpoint) { e.Controls = map[string]Tri{"Mic Mode": True} }, Unknown},
		"a switch is no setting":    {ALSACtl{Name: "Mic Mode"}, func(e *Endpoint) { e.Settings = map[string]string{"Mic Mode": "Off"} }, Unknown},
		"nothing is known of it":    {mode, func(*Endpoint) {}, Unknown},
		"an empty value is unknown": {mode, func(e *Endpoint) { e.Settings = map[string]string{"Mic Mode": ""} }, Unknown},
	} {
		ctl := c.ctl
		rules := []SourceRule{{Field: HardwareMute, SourceKind: SourceKind{ALSACtl: &ctl}}}
		require.Equal(t, c.want, flagOf(t, HardwareMute, Linux, rules, c.set).Value, name)
	}
}

// Sound servers set the capture switch, too: without the vendor's word it says nothing of the button, and with it both may have set it.
func TestCaptureSwitchIsSharedWithTheOS(t *testing.T) {
	open := func(e *Endpoint) { e.Controls = map[string]Tri{"Mic Capture Switch": False} }
	for _, shared := range []bool{false, true} {
		ctl := ALSACtl{Name: "Mic Capture Switch", Invert: true, SharedWithButton: shared}
		flag := flagOf(t, HardwareMute, Linux, []SourceRule{{Field: HardwareMute, SourceKind: SourceKind{ALSACtl: &ctl}}}, open)
		if !shared {
			require.Equal(t, Flag{}, flag)
			continue
		}
		require.Equal(t, True, flag.Value)
		require.Equal(t, "alsa_ctl (Mic Capture Switch, set by the button or in the sound settings)", flag.Origin.String())
	}
}

func TestCheckOfControlsThatAreNoSwitches(t *testing.T) {
	rule := func(c ALSACtl) SourceRule {
		return SourceRule{Field: HardwareMute, SourceKind: SourceKind{ALSACtl: &c}}
	}
	for name, c := range map[string]struct {
		rules []SourceRule
		want  string // path and problem; "": none
	}{
		"good":               {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"y"}})}, ""},
		"on alone":           {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{"x"}})}, "sources[0].alsa_ctl: on and off go together"},
		"off alone":          {[]SourceRule{rule(ALSACtl{Name: "A", Off: []string{"x"}})}, "sources[0].alsa_ctl: on and off go together"},
		"both":               {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"y", "x"}})}, `sources[0].alsa_ctl.off[1]: "x" means both on and off`},
		"inverted":           {[]SourceRule{rule(ALSACtl{Name: "A", Invert: true, On: []string{"x"}, Off: []string{"y"}})}, "sources[0].alsa_ctl.invert: invert is for switches"},
		"an empty item":      {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{""}, Off: []string{"y"}})}, "sources[0].alsa_ctl.on[0]: empty value of a control"},
		"a capture switch":   {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch", Invert: true})}, "sources[0].alsa_ctl: sound servers and mixers set a capture switch, too, and nothing tells who has, so this rule says nothing"},
		"the second of one":  {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch,1"})}, "sources[0].alsa_ctl: sound servers and mixers set a capture switch, too, and nothing tells who has, so this rule says nothing"},
		"one that is shared": {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch", SharedWithButton: true})}, ""},
		"shared and no mute": {[]SourceRule{{Field: AutomaticGainControl, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A", SharedWithButton: true}}}}, "sources[0].alsa_ctl.shared_with_button: shared_with_button is a word on hardware_mute"},
		"after a switch":     {[]SourceRule{rule(ALSACtl{Name: "A"}), rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"y"}})}, ""},
		"after one of more":  {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"y", "z"}}), rule(ALSACtl{Name: "A", On: []string{"y"}, Off: []string{"x"}})}, "sources[1]: unreachable source"},
		"after one of less":  {[]SourceRule{rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"y"}}), rule(ALSACtl{Name: "A", On: []string{"x"}, Off: []string{"z"}})}, ""},
	} {
		var got []string
		for _, p := range catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Sources: c.rules}).Check() {
			if strings.HasPrefix(p.Path, "$.products[0].sources[") {
				got = append(got, p.Path+": "+p.Message)
			}
		}
		var want []string
		if c.want != "" {
			want = []string{"$.products[0]." + c.want}
		}
		require.Equal(t, want, got, name)
	}
}

// A setting keeps its time until it changes.
func TestSettingsHaveAnAge(t *testing.T) {
	t1, t2 := time.Unix(1, 0), time.Unix(2, 0)
	mic := func(value string) []Endpoint {
		return []Endpoint{{ID: "mic", Type: AudioInput, Settings: map[string]string{"Mode": value}}}
	}
	first := Carry(nil, mic("Live"), t1)
	require.Equal(t, map[string]time.Time{"setting:Mode": t1}, first[0].Changed)
	require.Equal(t, t1, Carry(first, mic("Live"), t2)[0].Changed["setting:Mode"])
	require.Equal(t, t2, Carry(first, mic("Off"), t2)[0].Changed["setting:Mode"])
}
