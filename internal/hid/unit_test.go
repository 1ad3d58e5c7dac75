package hid_test

import (
	"fmt"
	"testing"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// A device may have the same control twice. What one interface said once must not stand in for
// another that has missed something.
func TestSameControlOnTwoInterfaces(t *testing.T) {
	w := newWorld(t, toggleOf("start: false"))
	w.happen(plugged("hidraw0", reports(1)), plugged("hidraw1", reports(1)))
	require.Equal(t, "sources[0]=true sources[0]=false", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(lost("hidraw0")))
	w.happen(gone("hidraw0"), gone("hidraw1"), plugged("hidraw0", reports(1)), plugged("hidraw1", reports(1)))
	require.Equal(t, "sources[0]=true sources[0]=false", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown", w.happen(gone("hidraw0")))
}

// When only one interface fails, the others are asked what holds now.
func TestInterfaceFails(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}}}
`)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "once")
	w.happen(w.answer("hidraw1 feature 22", 0x22, 0))
	require.Equal(t, "sources[0]=true sources[1]=false", w.happen(in("hidraw0", 1, 1)))
	failed := gone("hidraw0")
	failed.Error = "input/output error"
	require.Equal(t, "sources[1]=unknown", w.happen(failed), "false is older than the true that is gone")
	require.Empty(t, w.asked(), "nothing would tell when its answer is over")
	require.Contains(t, w.note("sources[1]"), "read none of the device's interfaces")
	w.happen(at("hidraw0", reports(1)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "the first one is back")
	require.Empty(t, w.note("sources[1]"))
}

// The same, of a query that a report of its own interface tells to ask again.
func TestOtherInterfaceFails(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 2}]}}
`)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "once")
	w.happen(w.answer("hidraw1 feature 22", 0x22, 0), in("hidraw0", 1, 1))
	failed := gone("hidraw0")
	failed.Error = "input/output error"
	require.Equal(t, "sources[1]=unknown", w.happen(failed), "false is older than the true that is gone")
	require.Equal(t, "hidraw1 feature 22", w.asked())
	require.Equal(t, "sources[1]=true", w.happen(w.answer("hidraw1 feature 22", 0x22, 1)))
	require.Equal(t, "sources[1]=unknown", w.happen(at("hidraw0", reports(1)), in("hidraw0", 1, 0), gone("hidraw0")))
	require.Empty(t, w.asked(), "it has been unplugged, and this interface goes next")
	w.happen(at("hidraw0", reports(1)))
	require.Equal(t, "hidraw1 feature 22", w.asked(), "it did not: the first one is back")
}

func TestTwoUnits(t *testing.T) {
	other := plugged("hidraw1", reports(1))
	other.Device.Container = "usb:1-2"
	w := newWorld(t, toggleOf("start: false"))
	w.happen(plugged("hidraw0", reports(1)), other)
	require.Equal(t, "sources[0]=false sources[0]=true", w.happen(in("hidraw1", 1, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=true", w.happen(lost("hidraw0")))
	require.Equal(t, "sources[0]=true", w.happen(gone("hidraw0")))

	for i, d := range []*hid.Device{{Serial: "A"}, {Serial: "B"}, {}, {}} { // without containers
		e := plugged(fmt.Sprintf("hidraw%d", i), reports(1))
		e.Device.Container, e.Device.Serial = "", d.Serial
		w.happen(e)
	}
	require.Equal(t, "sources[0]=false sources[0]=false sources[0]=unknown sources[0]=false", w.happen(lost("hidraw2")))
}

// A product that is several USB devices is one unit by its serial number.
func TestUnitBySerial(t *testing.T) {
	w := newWorld(t, "    group_by: serial\n"+linked[1:])
	first, second := at("hidraw0", reports(1, 2)), at("hidraw1", reports(4))
	first.Device.Serial, second.Device.Serial, second.Device.Container = "A", "A", "usb:1-2"
	w.happen(first, second, in("hidraw1", 4, 1), in("hidraw0", 2, 1))
	require.Contains(t, w.happen(in("hidraw1", 4, 0)), "sources[1]=unknown")
}
