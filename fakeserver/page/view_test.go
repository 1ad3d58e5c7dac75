package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// Each fault of the package is a button that does something as it stands.
func TestEveryFaultIsAButton(t *testing.T) {
	views := faultViews(fakeserver.FaultHelp())
	require.Greater(t, len(views), 10)
	for _, v := range views {
		text := v.Name
		if v.Want != "" {
			require.NotEmpty(t, v.Preset, v.Name)
			text += "=" + v.Preset
		}
		f, err := fakeserver.ParseFault(text)
		require.NoError(t, err)
		require.Equal(t, v.Name, string(f.Kind))
		require.NotEmpty(t, v.Help)
	}
}

func TestOnlyWebAddressesAreLinks(t *testing.T) {
	for address, href := range map[string]string{
		"https://acme.example/a?b#c": "https://acme.example/a?b#c", "http://acme.example": "http://acme.example", "HTTPS://acme.example": "https://acme.example",
		"javascript:alert(1)": "", " javascript:alert(1)": "", "java\tscript:alert(1)": "", "data:text/html,x": "", "//acme.example": "", "acme.example": "",
		"https:": "", "https:///path": "", "file:///etc/passwd": "", "http://[bad": "", "": "",
		"https://acme.example/" + strings.Repeat("x", maxURL): "",
	} {
		v := linkOf(fakeserver.Named{URL: address})
		require.Equal(t, href, v.Href, address)
		require.Equal(t, href == "" && address != "", v.Text != "", address)
	}
}

func TestEverythingIsBounded(t *testing.T) {
	var list []fakeserver.Device
	for range maxDevices + 7 {
		list = append(list, fakeserver.Device{Type: fakeserver.AudioInput, ID: "same", Related: make([]string, maxRelated+3)})
	}
	v := listOf("app", list)
	require.Len(t, v.Devices, maxDevices)
	require.Equal(t, 7, v.More)
	require.Len(t, v.Devices[0].Related, maxRelated)
	require.Equal(t, 3, v.Devices[0].More)
	keys := map[string]bool{}
	for _, d := range v.Devices {
		keys[d.Key] = true
	}
	require.Len(t, keys, maxDevices, "equal ids are told apart")
	require.Equal(t, "ééé… (5 characters)", truncate("ééééé", 3))
	require.Equal(t, "ééééé", truncate("ééééé", 5))
}

func TestReasons(t *testing.T) {
	require.Equal(t, []reasonView{{Path: "devices[1].id", Text: "empty string"}, {Text: "fault hang: not taken"}, {Text: "and more"}},
		reasonsOf([]string{"devices[1].id: empty string", "fault hang: not taken", "and more"}))
}

func TestLinkState(t *testing.T) {
	links := func(list ...fakeserver.Transport) map[fakeserver.Transport]int {
		m := map[fakeserver.Transport]int{}
		for _, l := range list {
			m[l]++
		}
		return m
	}
	for _, c := range []struct {
		links                    map[fakeserver.Transport]int
		running, frozen, refuses bool
		want                     string
	}{
		{nil, false, false, false, "Stopped: the client is not there"},
		{nil, true, false, false, "No reporter connected"},
		{nil, true, false, true, "Refuses new connections"},
		{links(fakeserver.HTTP), true, false, false, "Connected over HTTP"},
		{links(fakeserver.HTTP, fakeserver.WebSocket), true, false, true, "Connected over WebSocket"},
		{links(fakeserver.HTTP, fakeserver.IPC), true, false, false, "Connected over IPC"},
		{links(fakeserver.IPC), true, true, false, "Frozen: the client does nothing"},
	} {
		_, text := linkState(c.links, c.running, c.frozen, c.refuses)
		require.Equal(t, c.want, text)
	}
}
