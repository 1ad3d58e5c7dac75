package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
)

// The client shows the flags of an id for every microphone of that id.
func TestNoFlagForTheMicrophoneOfAnother(t *testing.T) {
	no := false
	cat := catalogueOf(product{
		ID: "p", Links: links{usbLink("0700")}, Endpoints: []catalogue.EndpointRule{
			{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: "hidden"}, Report: &no}, {Type: AudioInput},
		},
		Sources: rules{
			{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
		},
	})
	named := func(id, pid string, mute Tri) Endpoint {
		return with(usb(id, AudioInput, pid), func(e *endpoint) { e.Name, e.Container, e.Mute = "USB Audio Device Mono", id, mute })
	}
	foreign := func(mute Tri) Endpoint { return named("foreign", "beef", mute) }
	for name, c := range map[string]struct {
		endpoints []Endpoint
		want      Tri
		others    int
	}{
		"no other":                       {endpoints{named("a", "0700", True)}, True, 0},
		"unknown to the catalogue":       {endpoints{named("a", "0700", True), foreign(False)}, Unknown, 1},
		"unknown to it, whatever it is":  {endpoints{named("a", "0700", False), foreign(True)}, Unknown, 1},
		"a virtual one of no product":    {endpoints{named("a", "0700", True), with(foreign(True), func(e *endpoint) { e.Virtual = true })}, Unknown, 1},
		"one with an empty jack":         {endpoints{named("a", "0700", True), with(foreign(True), func(e *endpoint) { e.Plugged = False })}, Unknown, 1},
		"an output":                      {endpoints{named("a", "0700", True), with(foreign(True), func(e *endpoint) { e.Type = AudioOutput })}, True, 0},
		"of another name":                {endpoints{named("a", "0700", True), with(foreign(True), func(e *endpoint) { e.Name = "Webcam" })}, True, 0},
		"reported too: both muted":       {endpoints{named("a", "0700", True), named("b", "0700", True)}, True, 0},
		"reported too: not both":         {endpoints{named("a", "0700", True), named("b", "0700", False)}, False, 0},
		"withheld: both muted":           {endpoints{named("a", "0700", True), named("hidden", "0700", True)}, True, 1},
		"withheld: not both":             {endpoints{named("a", "0700", True), named("hidden", "0700", False)}, False, 1},
		"withheld, and of unknown state": {endpoints{named("a", "0700", True), named("hidden", "0700", Unknown)}, Unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, cat, Options{OS: Linux}, c.endpoints...)
			require.Len(t, s.Devices[0].Namesakes, c.others)
			require.Equal(t, c.want, s.Devices[0].Flags[HardwareMute].Value)
			require.Equal(t, c.want.Ptr(), s.Devices[0].HardwareMute)
			s = resolve(t, cat, native, c.endpoints[0], foreign(False))
			require.Equal(t, c.endpoints[0].Mute, s.Devices[0].Flags[HardwareMute].Value, "under other ids the client can tell them apart")
		})
	}
}
