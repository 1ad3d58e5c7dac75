package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// TestWhyOfAControl: why a source that is a control of the device's mixer does not know a flag.
func TestWhyOfAControl(t *testing.T) {
	setting := &catalogue.ALSACtl{Name: "Gain", On: []string{"Auto"}, Off: []string{"Manual"}}
	for want, c := range map[health.Code]struct {
		control  *catalogue.ALSACtl
		switches map[string]devices.Tri
		settings map[string]string
	}{
		health.WhyControlValue:   {setting, nil, map[string]string{"Gain": "Half"}},
		health.WhyControlKind:    {setting, map[string]devices.Tri{"Gain": devices.True}, nil},
		health.WhyControlMissing: {setting, nil, map[string]string{"Mode": "A", "Rate": "B"}},
		health.WhySwitchMissing:  {&catalogue.ALSACtl{Name: "AGC"}, map[string]devices.Tri{"Mic": devices.True, "Mode": devices.True}, nil},
	} {
		p := doctortest.New(t)
		source := catalogue.SourceRule{Field: devices.AutomaticGainControl, SourceKind: catalogue.SourceKind{ALSACtl: c.control}}
		p.Catalogue.Products[0].Sources = []catalogue.SourceRule{source}
		p.Endpoints[0].Controls, p.Endpoints[0].Settings = c.switches, c.settings
		p.Resolve(t)
		_, why := doctor.Why(p.Facts, p.Catalogue.Products[0].ID, p.Devices.Endpoints[0], devices.AutomaticGainControl, "sources[0]")
		require.Equal(t, want, why.Code)
		healthtest.Raised(t, why)
	}
}

// TestWhyOfAnotherCatalogue: of a mute that nobody knows, and of which the catalogue as it is now says nothing.
func TestWhyOfAnotherCatalogue(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints[0].Mute = devices.Unknown
	p.Resolve(t)
	p.Catalogue.Products[0].Sources = nil
	found := doctor.Examine(p.Facts)
	healthtest.Raised(t, found...)
	require.Contains(t, inJSON(found), string(health.WhyRuleUnknown))
}

// TestWhyNothingIsSaid: of a mute that nobody knows although its source says what it reads.
func TestWhyNothingIsSaid(t *testing.T) {
	p := doctortest.New(t)
	usage := catalogue.SourceKind{HIDUsage: &catalogue.HIDUsage{}}
	p.Catalogue.Products[0].Sources = []catalogue.SourceRule{{
		Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{Derive: &catalogue.Derive{And: []catalogue.SourceKind{usage}}},
	}}
	p.HID = []control.HID{{Node: "hidraw3", Sources: []control.HIDSource{
		{Product: "acme-headset-700", Rule: "sources[0].derive.and[0]", Value: devices.True},
	}}}
	require.Contains(t, inJSON(examine(t, p)), string(health.WhyNotSaid))
}
