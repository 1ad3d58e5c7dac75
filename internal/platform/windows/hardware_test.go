package windows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

func TestInstanceIdsTellTheHardware(t *testing.T) {
	for id, want := range map[string]Hardware{
		`USB\VID_046F&PID_0001\A1`:                      {devices.USB, "046f", "0001", "A1"},
		`usb\vid_0b0e&pid_0420\50c2ed01`:                {devices.USB, "0b0e", "0420", "50c2ed01"},
		`USB\VID_0B0E&PID_0420&MI_00\7&1A2B3C4D&0&0000`: {devices.USB, "0b0e", "0420", ""},
		`USB\VID_0B0E&PID_0420\5&2F0A1C2B&0&4`:          {devices.USB, "0b0e", "0420", ""},
		`USB\ROOT_HUB30\4&1&0&0`:                        {devices.USB, "", "", ""},
		`USB\VID_0B0EF&PID_0420\A1`:                     {devices.USB, "", "", "A1"},
		`BTHENUM\{0000110B-0000-1000-8000-00805F9B34FB}_VID&0002047F_PID&C056\7&2E3F&0&5C1234567890_C00000000`: {devices.Bluetooth, "047f", "c056", ""},
		`BTHENUM\{0000111E-0000-1000-8000-00805F9B34FB}_VID&00010094_PID&0004\7&2E3F&0&5C1234567890_C00000000`: {devices.Bluetooth, "0094", "0004", ""},
		`BTHENUM\{0000111E-0000-1000-8000-00805F9B34FB}_LOCALMFG&0002\7&2E3F&0&5C1234567890_C00000000`:         {devices.Bluetooth, "", "", ""},
		`BTHHFENUM\BTHHFPAUDIO\8&1A2B3C&0&97`:                                  {devices.Bluetooth, "", "", ""},
		`HDAUDIO\FUNC_01&VEN_10EC&DEV_0255&SUBSYS_1028\4&1&0&1`:                {devices.PCI, "", "", ""},
		`PCI\VEN_8086&DEV_A348\3&11583659&0&FB`:                                {devices.PCI, "", "", ""},
		`ROOT\MEDIA\0000`:                                                      {devices.Virtual, "", "", ""},
		`SWD\MMDEVAPI\{0.0.1.00000000}.{25DA76D0-033C-4235-90A5-1AB6F6AD9F9E}`: {devices.Virtual, "", "", ""},
		`NEW\VID_046F&PID_0001\A1`:                                             {},
		`USB\VID_046F&PID_0001`:                                                {},
		`USB\VID_046F&PID_0001\A\B`:                                            {},
		`nonsense`:                                                             {},
		``:                                                                     {},
	} {
		require.Equal(t, want, parseInstance(id), id)
	}
}

func TestPathsOfInterfacesHoldTheInstance(t *testing.T) {
	for path, want := range map[string]string{
		`{2}.\\?\usb#vid_0b0e&pid_0420&mi_00#7&1a2b&0&0000#{6994ad04-93ef-11d0-a3cc-00a0c9223196}\global`: `usb\vid_0b0e&pid_0420&mi_00\7&1a2b&0&0000`,
		`\\?\hid#vid_0b0e&pid_0420&mi_03&col01#8&1&0&0000#{4d1e55b2-f16f-11cf-88cb-001111000030}`:         `hid\vid_0b0e&pid_0420&mi_03&col01\8&1&0&0000`,
		`usb#vid_0b0e&pid_0420#a1#{4d1e55b2-f16f-11cf-88cb-001111000030}`:                                 "",
		`\\?\usb#vid_0b0e`: "",
		``:                 "",
	} {
		require.Equal(t, want, InstanceOf(path), path)
	}
}

func TestASerialNumberIsThatOfTheWholeDevice(t *testing.T) {
	const hub, device, function = `USB\VID_05E3&PID_0608\HUB7`, `USB\VID_0B0E&PID_0420\A1`, `USB\VID_0B0E&PID_0420&MI_00\7&1&0&0000`
	const unnumbered, headset, profile = `USB\VID_0B0E&PID_0420\5&2F0A&0&4`,
		`BTHENUM\{0000111E-0000-1000-8000-00805F9B34FB}_VID&0002047F_PID&C056\7&2E&0&5C_C0`, `BTHHFENUM\BTHHFPAUDIO\8&1A2B3C&0&97`
	for _, c := range []struct {
		name, id string
		above    map[string]string
		want     Hardware
	}{
		{"an interface", function, map[string]string{function: device, device: hub}, Hardware{devices.USB, "0b0e", "0420", "A1"}},
		{"the device itself", device, map[string]string{device: hub}, Hardware{devices.USB, "0b0e", "0420", "A1"}},
		{"not the number of the hub", function, map[string]string{function: unnumbered, unnumbered: hub}, Hardware{devices.USB, "0b0e", "0420", ""}},
		{"nothing above is known", function, nil, Hardware{devices.USB, "0b0e", "0420", ""}},
		{"a function of a Bluetooth headset", profile, map[string]string{profile: headset}, Hardware{devices.Bluetooth, "047f", "c056", ""}},
		{"a Bluetooth headset at a USB radio", profile, map[string]string{profile: device}, Hardware{devices.Bluetooth, "", "", ""}},
		{"its own parent", function, map[string]string{function: function}, Hardware{devices.USB, "0b0e", "0420", ""}},
		{"a virtual device", `ROOT\MEDIA\0000`, map[string]string{`ROOT\MEDIA\0000`: device}, Hardware{Bus: devices.Virtual}},
	} {
		require.Equal(t, c.want, Identify(c.id, func(id string) string { return c.above[id] }), c.name)
	}
}

func TestTheComputerIsNoContainer(t *testing.T) {
	require.Equal(t, "{11223344-5566-7788-99AA-BBCCDDEEFF00}", Container("{11223344-5566-7788-99aa-bbccddeeff00}"))
	for _, id := range []string{"", "{00000000-0000-0000-0000-000000000000}", "{00000000-0000-0000-ffff-ffffffffffff}"} {
		require.Empty(t, Container(id), id)
	}
}
