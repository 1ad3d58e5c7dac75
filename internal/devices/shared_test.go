package devices_test

import (
	"testing"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"

	"github.com/stretchr/testify/require"
)

// TestModelsBehindOneID: two models share the id of their dongle, and the link_state of each tells whether it is there.
func TestModelsBehindOneID(t *testing.T) {
	model := func(id string, priority int) catalogue.Product {
		tell := func(report catalogue.Byte) catalogue.SourceKind {
			return catalogue.SourceKind{HIDReport: &catalogue.HIDReport{ReportID: &report, Value: &catalogue.ByteValue{Byte: 1, On: []catalogue.Byte{1}, Off: []catalogue.Byte{0}}}}
		}
		return catalogue.Product{
			ID: id, Priority: priority, Links: links{usbLink("0700")}, LinkState: []catalogue.LinkRule{{SourceKind: tell(catalogue.Byte(priority))}},
			Sources:          []catalogue.SourceRule{{Field: HardwareMute, SourceKind: tell(6)}},
			VirtualEndpoints: []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "Echo"}},
		}
	}
	cat := catalogueOf(model("a", 1), model("b", 2))
	require.Empty(t, cat.Check())
	r, err := catalogue.NewResolver(cat, Options{OS: Linux, AudioID: IDNative})
	require.NoError(t, err)

	yes, no := True.Ptr(), False.Ptr()
	for name, c := range map[string]struct {
		a, b  Tri
		model string // "": none
		mute  *bool
		why   health.Code
	}{
		"the first":                    {True, False, "Model a", yes, ""},
		"the second":                   {False, True, "Model b", no, ""},
		"the second, the first silent": {Unknown, True, "Model b", no, ""},
		"perhaps the second":           {False, Unknown, "Model b", no, ""},
		"none":                         {False, False, "", nil, health.WithheldAway},
		"nobody knows":                 {Unknown, Unknown, "", nil, health.WithheldModel},
		"both":                         {True, True, "", nil, health.WithheldModel},
	} {
		t.Run(name, func(t *testing.T) {
			reading := func(product, rule string, v Tri) Reading {
				return Reading{Product: product, Rule: rule, Container: "usb:1-1", Value: v, Origin: Origin{Via: "hid_report"}}
			}
			dongle := func(e *endpoint) { e.Container = "usb:1-1" }
			s := r.Resolve(Inputs{
				Endpoints: []Endpoint{
					with(usb("mic", AudioInput, "0700"), dongle), with(usb("ear", AudioOutput, "0700"), dongle),
					{ID: "echo", Type: AudioInput, Name: "Echo", Virtual: true, Master: "mic"},
				},
				Readings: []Reading{
					reading("a", "link_state[0]", c.a), reading("b", "link_state[0]", c.b),
					reading("a", "sources[0]", True), reading("b", "sources[0]", False),
				},
			})
			require.NoError(t, validate(s.Wire()))
			if c.model == "" {
				require.Empty(t, s.Devices)
				require.Len(t, s.Withheld, 3)
				for _, w := range s.Withheld {
					if w.ID != "echo" {
						healthtest.Raised(t, w.Condition())
						require.Equal(t, c.why, w.Why.Code, w.ID)
					}
				}
				return
			}
			require.Empty(t, s.Withheld)
			require.Len(t, s.Devices, 3)
			for _, d := range s.Devices {
				require.Equal(t, c.model, d.Model.Name)
				if d.Type == AudioInput {
					require.Equal(t, c.mute, d.HardwareMute)
				}
			}
		})
	}
}
