package fakeusb

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A socket stands for a port of the virtual controller.
type socket struct {
	device  Device
	pulled  bool
	failure error
}

func (s *socket) PullOut() error {
	s.pulled = true
	return nil
}

func (s *socket) Err() error { return s.failure }

func newBench() (*Bench, map[int]*socket) {
	sockets := map[int]*socket{}
	return &Bench{slots: map[int]slot{}, plugIn: func(port int, device Device) (inserted, error) {
		if port > 7 {
			return nil, errors.New("no such port")
		}
		sockets[port] = &socket{device: device}
		return sockets[port], nil
	}}, sockets
}

var headsetSpec = &Spec{Kind: "headset", ID: "1209:0700", Name: "Acme Headset 700", Serial: "A1", GainControl: true, PhoneMute: PhoneMuteTwoButtons}

func TestBenchOperatesDevices(t *testing.T) {
	b, sockets := newBench()
	require.Equal(t, Answer{State: &State{}}, b.Do(Command{Do: DoPlug, Port: 0, Device: headsetSpec}))
	require.Equal(t, Answer{State: &State{}}, b.Do(Command{Do: DoPlug, Port: 1, Device: &Spec{Kind: "camera", ID: "1209:0720"}}))

	require.Equal(t, Answer{State: &State{Muted: true}}, b.Do(Command{Do: DoMute, Port: 0, On: true}))
	require.Equal(t, Answer{State: &State{Muted: true, GainControl: true}}, b.Do(Command{Do: DoGain, Port: 0, On: true}))
	require.Equal(t, Answer{State: &State{GainControl: true}}, b.Do(Command{Do: DoMute, Port: 0}))
	require.Equal(t, Answer{State: &State{ShutterClosed: true}}, b.Do(Command{Do: DoShutter, Port: 1, On: true}))

	b.Do(Command{Do: DoReport, Port: 0, Report: "0102"})
	report, err := sockets[0].device.In(t.Context(), Transfer{Endpoint: endpointTelephony, Length: 8})
	require.NoError(t, err)
	require.Equal(t, [][]byte{{1, 2}}, report)

	b.Do(Command{Do: DoPhoneMute, Port: 0})
	report, err = sockets[0].device.In(t.Context(), Transfer{Endpoint: endpointTelephony, Length: 8})
	require.NoError(t, err)
	require.Equal(t, [][]byte{{1, 6}}, report, "the second button")

	require.Equal(t, Answer{}, b.Do(Command{Do: DoUnplug, Port: 0}))
	require.True(t, sockets[0].pulled)
	require.Equal(t, Answer{State: &State{}}, b.Do(Command{Do: DoPlug, Port: 0, Device: headsetSpec}), "the port is free again")

	require.NoError(t, b.Close())
	require.True(t, sockets[0].pulled)
	require.True(t, sockets[1].pulled)
}

func TestBenchRefuses(t *testing.T) {
	b, sockets := newBench()
	require.Empty(t, b.Do(Command{Do: DoPlug, Port: 0, Device: headsetSpec}).Error)
	require.Empty(t, b.Do(Command{Do: DoPlug, Port: 1, Device: &Spec{Kind: "camera", ID: "1209:0720"}}).Error)
	require.Empty(t, b.Do(Command{Do: DoPlug, Port: 2, Device: headsetSpec}).Error)
	sockets[2].failure = errors.New("broken pipe")
	for name, c := range map[string]struct {
		command Command
		want    string
	}{
		"empty port":        {Command{Do: DoMute, Port: 5}, "mute on port 5: no device is plugged in there"},
		"taken port":        {Command{Do: DoPlug, Port: 0, Device: headsetSpec}, "plugged in there already"},
		"no device":         {Command{Do: DoPlug, Port: 5}, "no device given"},
		"unknown kind":      {Command{Do: DoPlug, Port: 5, Device: &Spec{Kind: "toaster", ID: "1:2"}}, "toaster"},
		"bad id":            {Command{Do: DoPlug, Port: 5, Device: &Spec{Kind: "camera", ID: "1209"}}, `"1209"`},
		"no such mute":      {Command{Do: DoPlug, Port: 5, Device: &Spec{Kind: "headset", ID: "1:2", PhoneMute: "morse"}}, `"morse"`},
		"bad port":          {Command{Do: DoPlug, Port: 8, Device: headsetSpec}, "no such port"},
		"unknown action":    {Command{Do: "dance", Port: 0}, "no such action"},
		"shutter of a mic":  {Command{Do: DoShutter, Port: 0}, "no such action"},
		"mute of a camera":  {Command{Do: DoMute, Port: 1}, "no such action"},
		"report not hex":    {Command{Do: DoReport, Port: 0, Report: "zz"}, "hexadecimal"},
		"broken connection": {Command{Do: DoMute, Port: 2}, "broken pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, b.Do(c.command).Error, c.want)
		})
	}
}
