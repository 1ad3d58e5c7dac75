package hid_test

import (
	"testing"
	"time"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

// relying is a query that counts on a level before it: it knows what was true when it asked.
const (
	relying = `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}}}
`
	relied = "hidraw1 feature 22"
)

// relies is a world in which the query has been answered with true, and the level has told false since.
func relies(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, relying)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(2)))
	require.Equal(t, relied, w.asked())
	w.happen(w.answer(relied, 0x22, 1))
	require.Equal(t, "sources[0]=false sources[1]=true", w.happen(in("hidraw0", 1, 0)))
	return w
}

// Where no interface has the level, or nobody may read it, nothing would tell that an answer is over.
func TestQueryWithoutItsLevel(t *testing.T) {
	w := newWorld(t, relying)
	require.Equal(t, "sources[1]=unknown", w.happen(at("hidraw1", reports(2))))
	w.quiet("no interface has the level")
	require.Contains(t, w.note("sources[1]"), "read none of the device's interfaces")
	denied := at("hidraw0", reports(1))
	denied.Kind = hid.Denied
	require.Equal(t, "sources[1]=unknown", w.happen(denied))
	w.quiet("nobody may read the level")
	w.resume()
	w.quiet("nor after sleep")
	other := at("hidraw2", reports(1))
	other.Device.Container = "usb:1-2"
	require.Equal(t, "sources[1]=unknown sources[0]=unknown", w.happen(other))
	w.quiet("the level of another unit")
}

func TestLevelComesAfterTheQuery(t *testing.T) {
	w := relies(t)
	second := at("hidraw2", reports(1))
	require.Equal(t, "sources[0]=false sources[1]=unknown sources[0]=false", w.happen(second), "what it said before it was read went unseen")
	require.Equal(t, relied, w.asked())
	w.happen(w.answer(relied, 0x22, 0))

	w = newWorld(t, relying)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.happen(at("hidraw1", reports(2)), at("hidraw0", reports(1))))
	require.Equal(t, relied, w.asked())
	require.Equal(t, "sources[0]=unknown sources[1]=true", w.happen(w.answer(relied, 0x22, 1)))
	require.Equal(t, "sources[1]=unknown", w.happen(gone("hidraw0")))
}

// A level that has changed to what it does not know leaves nothing to what was asked before.
func TestLevelTellsNothing(t *testing.T) {
	w := relies(t)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.happen(in("hidraw0", 1, 7)))
	w.pass(300 * time.Millisecond)
	require.Equal(t, relied, w.asked(), "what it does not say it may answer")
	require.Equal(t, "sources[0]=unknown sources[1]=true", w.happen(w.answer(relied, 0x22, 1)))
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.happen(in("hidraw0", 1, 7)))
	w.pass(300 * time.Millisecond)
	w.quiet("a device that repeats this is not asked each time")
	require.Equal(t, "sources[0]=true sources[1]=unknown", w.happen(in("hidraw0", 1, 1)))
}

func TestLinkLevelTellsNothing(t *testing.T) {
	w := newWorld(t, `
    link_state:
      - {hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}
      - {hid_query: {feature: "24", value: {byte: 1}}}
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`)
	w.happen(at("hidraw0", reports(1, 4)))
	w.asked()
	w.happen(w.answer("hidraw0 feature 24", 0x24, 0), in("hidraw0", 4, 1))
	require.Equal(t, "link_state[0]=unknown link_state[1]=unknown sources[0]=unknown", w.happen(in("hidraw0", 4, 7)), "it was off when it was asked")
}

// A new rule for the level has not heard what the old one had.
func TestNewRuleForTheLevel(t *testing.T) {
	w := relies(t)
	w.tr.Configure(rulesOf(t, relying), w.now)
	require.Equal(t, "sources[0]=false sources[1]=true", w.states(), "the same rules")
	w.quiet("the same rules")
	w.tr.Configure(rulesOf(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1, 2], off: [0]}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}}}
`), w.now)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.states())
	require.Equal(t, relied, w.asked())
	require.Equal(t, "sources[0]=unknown sources[1]=false", w.happen(w.answer(relied, 0x22, 0)))
	w.tr.Configure(rulesOf(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 9, value: {byte: 1}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1}}}
`), w.now)
	require.Equal(t, "sources[1]=unknown", w.states(), "no interface has the new one")
	w.quiet("no interface has the new one")
}

// A level of HID++ is not heard before the index of its feature is known: what is asked after it waits for that.
func TestQueryBehindALevelThatIsNotHeard(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hidpp: {feature: "0601", event: 0, value: {byte: 0, on: [1], off: [0]}}}
      - {field: hardware_mute, hid_query: {feature: "22", value: {byte: 1, on: [1], off: [0]}}}
`)
	d := append([]byte{}, hidppReports[:len(hidppReports)-1]...)
	d = append(d, 0x85, 0x22, 0x95, 1, 0x09, 0x04, 0xb1, 0x02, 0xc0)
	w.happen(at("hidraw0", d))
	require.Contains(t, w.asked(), "output 11 ff 00 0d 06 01")
	w.expire()
	w.quiet("nothing would tell when the answer is over")
	w.happen(long(0x11, 0xff, 4, 0, 0)) // it is there now
	require.Contains(t, w.asked(), "output 11 ff 00 0e 06 01")
	w.happen(long(0x11, 0xff, 0, 0x0e, 8))
	require.Equal(t, "hidraw0 feature 22", w.asked())
	require.Equal(t, "sources[0]=unknown sources[1]=true", w.happen(w.answer("hidraw0 feature 22", 0x22, 1)))
	require.Equal(t, "sources[0]=false sources[1]=true", w.happen(long(0x11, 0xff, 8, 0, 0)))
	w.resume()
	w.asked()
	w.expire()
	require.Equal(t, "sources[0]=unknown sources[1]=unknown", w.states(), "it has not answered this time")
}
