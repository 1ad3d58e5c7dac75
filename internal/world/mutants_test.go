package world

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var mutantName = flag.String("mutant", "", "have TestWorld play only scenarios in which this known mistake can show")

var tryMutants = flag.Bool("mutants", false, "show that TestWorld and TestWorldOfClients fail on an agent with a known mistake put back")

// mutant is a mistake that the agent once made.
type mutant struct {
	name  string
	edits []edit
}

type edit struct{ file, is, was string }

var mutants = []mutant{
	{"every mute of the OS counts as the button's", []edit{
		{"internal/catalogue/check_sources.go", "k.OSEndpointMute != nil && !k.OSEndpointMute.SharedWithButton:", "false:"},
		{"internal/catalogue/compile.go", "k.OSEndpointMute != nil && k.OSEndpointMute.SharedWithButton:", "k.OSEndpointMute != nil:"},
	}},
	{"what a headset says before the news of the waking is thrown away", []edit{
		{"internal/engine/resume.go", "s.hid.Resume(s.woke, s.now)", "s.hid.Resume(s.now, s.now)"},
	}},
	{"what software has said outlives the headset", []edit{
		{"internal/engine/lease.go", "return l.of != nil && l.of.presence == gone }", "return false }"},
	}},
	{"what software has said moves to another headset of the model", []edit{
		{"internal/engine/lease.go", "return l.of != nil && l.of.presence == gone }", "return false }"},
		{"internal/devices/push.go", "if p.Unit == \"\" {", "if true {"},
	}},
	{"what software has said outlives sleep", []edit{
		{"internal/engine/resume.go", "return l.said[f].Before(s.woke) }", "return false }"},
	}},
	{"a serial number makes one headset's state another's", []edit{
		{"internal/devices/unitindex.go", "\tif len(owners) == 0 {\n", "\tif len(owners) == 0 && d.serial != \"\" {\n\t\towners = x.bySerial[d.serial]\n\t}\n\tif len(owners) == 0 {\n"},
	}},
	{"a dropout of the radio is taken for a power cycle", []edit{
		{"internal/hid/sensor.go", "func (s *sensor) linkUp(at time.Time) {\n", "func (s *sensor) linkUp(at time.Time) {\n\ts.plugIn(at)\n"},
	}},
	{"the answer to another question is taken for one's own", []edit{
		{"internal/hid/trackeddevice.go", "c.softwareID = c.softwareID%maxSoftwareID + 1", "c.softwareID = 1"},
		{"internal/hid/trackeddevice.go", "if s.awaitsUnmarked() {", "if false {"},
	}},
	{"a question that was given up is not answered during the next one", []edit{
		{"internal/hid/late.go", "if d.asked == 0 || slices.ContainsFunc(d.requests, d.isAsked) ||", "if true ||"},
	}},
	{"a report was sent when it was read", []edit{
		{"internal/hid/arrival.go", "return arrival{e.Since, e.At, route{", "return arrival{e.At, e.At, route{"},
	}},
	{"a press that two interfaces tell is two presses", []edit{
		{"internal/hid/arrival.go", "limit = max(limit, told)", "limit = max(limit, 0)"},
	}},
	{"a device that comes with its hub was without power", []edit{
		{"internal/hid/tracker.go", "\tif e.Plugged {\n\t\tfor _, s := range d.sensors {", "\tif true {\n\t\tfor _, s := range d.sensors {"},
	}},
	{"a dongle that has found its headset has seen it being switched on", []edit{
		{"internal/hid/link.go", "!s.PressedSinceReset && t.wasUp[u] {", "!s.PressedSinceReset {"},
	}},
	{"a virtual microphone of unknown origin has the mute of the headset", []edit{
		{"internal/devices/resolve.go", "\t\treturn []*Endpoint{e}\n\t}\n\treturn nil\n}", "\t\treturn []*Endpoint{e}\n\t}\n\treturn own\n}"},
	}},
	{"a microphone of another vendor does not matter", []edit{
		{"internal/devices/resolve.go", "\tg.distrustShared(s.Devices)\n", ""},
	}},
	{"a level without number is read in every report", []edit{
		{"internal/hid/rules.go", "len(r.Report.When) == 0 && (desc == nil || desc.Numbered)", "false"},
	}},
	{"a value that nobody has thought of means muted", []edit{
		{"internal/catalogue/check_mute.go", "case u.field != devices.HardwareMute ||", "case true || u.field == devices.HardwareMute ||"},
		{"internal/catalogue/compile_hid.go", "case strict && !v.isOneBit()", "case false && !v.isOneBit()"},
	}},
	{"who logs waits for what takes the log", []edit{
		{"internal/asynclog/asynclog.go", "Write(line []byte) (int, error) {\n", "Write(line []byte) (int, error) {\n\treturn w.out.Write(line)\n"},
	}},
	{"a headset whose endpoints are away for a moment has left", []edit{
		{"internal/engine/incarnation.go", "if len(p.Hardware) > 0 && len(now.Hardware) > 0 {", "if false {"},
	}},
	{"a source is about every input", []edit{
		{"internal/devices/rules.go", "return r.Name == nil || ", "return true || r.Name == nil || "},
	}},
	{"a card with the index that another one had before the sound server restarted is that one", []edit{
		{"internal/platform/audio/pulse/types.go", "cmp.Or(device, fmt.Sprintf(\"%d/%d\", connections, c.Index))", "fmt.Sprint(c.Index, cmp.Or(\"\"))"},
	}},
	{"a headset whose card has no endpoints is none that software may mean", []edit{
		{"internal/devices/push.go", "case u.Sound:", "case inst.own > 0:"},
	}},
	{"a headset whose HID device has just come is none that software may mean", []edit{
		{"internal/engine/lease.go", "found = append(found, s.arriving(p, found[0])...)", "_ = s.arriving"},
	}},
	{"a push is about every input", []edit{
		{"internal/devices/flags.go", "if len(behind) > 0 && !inst.product.hasOn(e, behind, f) {", "if false {"},
	}},
}

// exposedBy says in which scenarios some mistakes can show: others are not played for them. Most scenarios are about other things.
var exposedBy = map[string]func(scenario) bool{
	"what a headset says before the news of the waking is thrown away": func(s scenario) bool {
		i := slices.IndexFunc(s.Steps, func(st scenarioStep) bool { return st.Do == doSleep && st.MS > 0 && st.N == 0 })
		return i >= 0 && i+1 < len(s.Steps) && s.Steps[i+1].Do == doPress && s.Steps[i+1].After < 1000 &&
			s.hasModel(func(m model) bool { return !strings.Contains(text(m.Versions), `"hid_query"`) })
	},
	"the answer to another question is taken for one's own": func(s scenario) bool {
		return s.hasModel(func(m model) bool { return m.AnswersLate && strings.Contains(text(m.Versions), `"hidpp"`) })
	},
	"a report was sent when it was read": func(s scenario) bool { return s.does(doStall) },
	"a virtual microphone of unknown origin has the mute of the headset": func(s scenario) bool {
		return s.does(doRoute) && s.hasModel(func(m model) bool { return m.Filtered })
	},
	"a press that two interfaces tell is two presses": func(s scenario) bool {
		return s.hasModel(func(m model) bool { return slices.ContainsFunc(m.Channels, func(t channel) bool { return t.Both }) })
	},
	"a dropout of the radio is taken for a power cycle": func(s scenario) bool {
		return s.does(doRange) && s.hasModel(func(m model) bool { return m.Bus == dongle && strings.Contains(text(m.Versions), `"start"`) })
	},
	"a device that comes with its hub was without power": func(s scenario) bool {
		return slices.ContainsFunc(s.Steps, func(st scenarioStep) bool { return st.Do == doPlug && st.N == 1 })
	},
	"a dongle that has found its headset has seen it being switched on": func(s scenario) bool {
		return s.hasModel(func(m model) bool { return m.Searches && strings.Contains(text(m.Versions), `"link_up"`) })
	},
	"a card with the index that another one had before the sound server restarted is that one": func(s scenario) bool {
		i := slices.IndexFunc(s.Steps, func(st scenarioStep) bool { return st.Do == doServer && st.After > 0 })
		return i >= 2 && i+3 < len(s.Steps) && s.Steps[i-1].Do == doRun && s.Steps[i+1].Do == doUnplug && s.Steps[i+2].Do == doPlug
	},
	"a headset whose HID device has just come is none that software may mean": func(s scenario) bool {
		return slices.ContainsFunc(s.Suites, func(x vendorSuite) bool {
			return x.Hasty && s.Models[x.Model].CardLate && s.Models[x.Model].interfaces() > 0
		})
	},
	"what one client has answered was answered by the next one behind its relay": scenario.hasSandbox,
	"the program behind a relay is the one that was given up, for ever":          scenario.hasSandbox,
	"a microphone of another vendor does not matter":                             func(s scenario) bool { return len(s.Strangers) > 0 },
}

func (s scenario) hasSandbox() bool {
	return slices.ContainsFunc(s.Clients, func(k clientSpec) bool { return k.Sandboxed })
}

func (s scenario) hasModel(is func(model) bool) bool { return slices.ContainsFunc(s.Models, is) }

// TestMutants builds the agent with each mistake and has the world find it within 500 seeds.
func TestMutants(t *testing.T) { findMutants(t, "TestWorld", mutants) }

// TestMutantsOfClients does the same for what concerns clients.
func TestMutantsOfClients(t *testing.T) { findMutants(t, "TestWorldOfClients", clientMutants) }

// Each mistake is put into code that is there, also where nobody asks for the long tests above.
func TestMutantsFitTheCode(t *testing.T) {
	for _, m := range slices.Concat(mutants, clientMutants) {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
}

// findMutants shows that the test fails on each.
func findMutants(t *testing.T, test string, list []mutant) {
	if !*tryMutants {
		t.Skip("each one is a build of its own, which `make mutants` makes")
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			file := m.overlay(t)
			out, err := exec.Command("go", "test", "-overlay", file, ".", "-run", "^"+test+"$", "-seeds", "500", "-failures", "1", "-mutant", m.name, "-save", *save).CombinedOutput()
			require.Error(t, err, "500 seeds found nothing")
			_, found, _ := strings.Cut(string(out), ": seed ")
			require.NotEmpty(t, found, "%s", out)
			t.Logf("seed %s", found)
		})
	}
}

// overlay writes a build overlay with the mistake.
func (m mutant) overlay(t *testing.T) (file string) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	overlay := map[string]string{}
	for i, e := range m.edits {
		source := filepath.Join(root, e.file)
		text, err := os.ReadFile(source)
		if before, ok := overlay[source]; ok {
			text, err = os.ReadFile(before)
		}
		require.NoError(t, err, "where is now what was in %s: %q?", e.file, e.is)
		n := strings.Count(string(text), e.is)
		require.Equal(t, 1, n, "%s has %d times the text that the mistake replaces, once is wanted: %q", e.file, n, e.is)
		overlay[source] = filepath.Join(t.TempDir(), strings.Repeat("x", i)+filepath.Base(e.file))
		require.NoError(t, os.WriteFile(overlay[source], []byte(strings.Replace(string(text), e.is, e.was, 1)), 0o644))
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, list, 0o644))
	return file
}
