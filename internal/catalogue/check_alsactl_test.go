package catalogue

import (
	"strings"
	"testing"

	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestCheckOfControlsThatAreNoSwitches(t *testing.T) {
	rule := func(c ALSACtl) SourceRule {
		return muteOf(SourceKind{ALSACtl: &c})
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
		"a capture switch":   {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch", Invert: true})}, "sources[0].alsa_ctl: sound servers and mixers set a capture switch, too, and nothing tells who did, so this rule says nothing"},
		"the second of one":  {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch,1"})}, "sources[0].alsa_ctl: sound servers and mixers set a capture switch, too, and nothing tells who did, so this rule says nothing"},
		"one that is shared": {[]SourceRule{rule(ALSACtl{Name: "Mic Capture Switch", SharedWithButton: true})}, ""},
		"shared and no mute": {[]SourceRule{{Field: devices.AutomaticGainControl, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A", SharedWithButton: true}}}}, "sources[0].alsa_ctl.shared_with_button: shared_with_button is for hardware_mute only"},
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
