package tray

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
	"sidetone/internal/texts/textstest"
	"sidetone/internal/tray/icon"
)

var update = flag.Bool("update", false, "write the expected menus anew")

// headset is a product with a microphone, whose mute is known, and headphones.
func headset(n int, label string, mute devices.Tri) control.Product {
	return control.Product{ID: fmt.Sprint("p", n), Name: label, Unit: fmt.Sprint("u", n), Devices: []control.Device{
		{Type: devices.AudioInput, ID: "in", Flags: map[devices.Field]devices.Flag{
			devices.HardwareMute:     {Value: mute, Origin: devices.Origin{Via: devices.ViaHIDReport}},
			devices.NoiseSuppression: {Value: devices.True, Origin: devices.Origin{Via: devices.ViaPush}},
			devices.EchoCancellation: {},
		}},
		{Type: devices.AudioOutput, ID: "out"},
	}}
}

// viewOf is an agent in whose world all is well.
func viewOf(change ...func(*view)) view {
	v := view{
		Program: "Sidetone", Version: "1.4.0", Vendor: "Acme Audio", Agent: agentUp, Autostart: true,
		Status: control.Status{
			PID: 1, Vendor: "Acme Audio", Products: []control.Product{headset(1, "Acme Headset 700", devices.False)},
			Clients: control.Clients{State: "ready", Sessions: []control.Session{{State: "ready", Name: "Discord", Transport: "ipc", Devices: 2}}},
		},
	}
	for _, f := range change {
		f(&v)
	}
	return v
}

func conditions(list ...health.Condition) func(*view) {
	return func(v *view) { v.Status.Conditions = control.ConditionsOf(list) }
}

func clients(list ...control.Session) func(*view) {
	return func(v *view) { v.Status.Clients = control.Clients{Sessions: list} }
}

func products(list ...control.Product) func(*view) {
	return func(v *view) { v.Status.Products = list }
}

func agent(s agentState) func(*view) {
	return func(v *view) { v.Agent = s }
}

// many makes n of something.
func many[T any](n int, one func(int) T) (list []T) {
	for i := range n {
		list = append(list, one(i))
	}
	return list
}

var (
	noCamera = health.Condition{
		Code: health.SourceUnreadable, Severity: health.Problem, Subject: "camera",
		Because: []health.Condition{{
			Code: health.CameraDenied, Args: health.Args{"reason": "permission denied", "path": "/dev/video0", "camera": "Acme Webcam"},
		}},
	}
	defaultInput = health.Condition{Code: health.UserDefaultInput, Severity: health.Info, Subject: "Acme Headset 700"}
)

const arabic = "سماعة الرأس \u202eالذكية"

// views are what the tray may have to show.
var views = map[string]view{
	"reporting":     viewOf(),
	"muted":         viewOf(products(headset(1, "Acme Headset 700", devices.True), headset(2, "Acme Desk", devices.Unknown))),
	"default_input": viewOf(conditions(defaultInput)),
	"down":          viewOf(agent(agentDown)),
	"starting":      viewOf(agent(agentStarting)),
	"silent": viewOf(agent(agentSilent), func(v *view) {
		v.Reason = &health.Condition{Code: health.AgentSilent, Severity: health.Problem}
	}),
	"trouble": viewOf(conditions(
		health.Condition{Code: health.ClientConnecting, Severity: health.Warning, Subject: "DiscordPTB"}, noCamera, defaultInput)),
	"nothing": viewOf(products(), clients(), func(v *view) { v.Autostart = false }),
	"no_client": viewOf(clients(), func(v *view) {
		v.Status.Clients.Reason = control.ConditionOf(&health.Condition{Code: health.ClientsNone, Severity: health.Problem})
		v.Status.Conditions = control.ConditionsOf([]health.Condition{{Code: health.ClientsNone, Severity: health.Problem}})
	}),
	"clients": viewOf(clients(many(7, func(i int) control.Session {
		states := []string{"ready", "degraded", "slow", "connecting", "unsupported", "refused", "foreign"}
		return control.Session{State: states[i], Name: fmt.Sprint("Client ", i), Transport: "http"}
	})...)),
	"many_products": viewOf(products(many(40, func(i int) control.Product {
		return headset(i, fmt.Sprint("Headset ", i),
			devices.False)
	})...)),
	"many_devices": viewOf(products(control.Product{Name: "Dock", Devices: many(30, func(int) control.Device {
		return control.Device{Type: devices.VideoInput}
	})})),
	"long_names": viewOf(
		products(headset(1, strings.Repeat("Very long name ", 20), devices.True), headset(2, strings.Repeat("👩🏽", 150), devices.True)),
		conditions(health.Condition{Code: health.UserDefaultInput, Severity: health.Info, Subject: strings.Repeat("Mic ", 75)})),
	"right_to_left": viewOf(products(headset(1, arabic, devices.True)), conditions(
		health.Condition{Code: health.UserDefaultInput, Severity: health.Info, Subject: arabic})),
	"paused":      viewOf(func(v *view) { v.Status.Pause = &control.Pause{Until: time.Unix(1, 0)} }),
	"paused_open": viewOf(func(v *view) { v.Status.Pause = &control.Pause{} }),
	"log_file":    viewOf(func(v *view) { v.Status.LogFile = "/home/me/.local/state/sidetone/acme/agent.log" }),
	"notice":      viewOf(func(v *view) { v.Notice = notice{"tray.failed", texts.Args{"reason": "no browser"}} }),
}

// TestTroubleOfAnotherVersion: what the agent knows and this program does not is said in the agent's words.
func TestTroubleOfAnotherVersion(t *testing.T) {
	later := health.Condition{Code: "sources.of_tomorrow", Severity: health.Problem}
	v := viewOf(func(v *view) {
		v.Status.Conditions = []control.Condition{{Condition: later, Message: "The camera sleeps."}}
	})
	require.Equal(t, icon.Trouble, v.state())
	require.Equal(t, "The camera sleeps.", health.English.Message(v.worst()))
}

// TestMenus compares each menu with the expected one. Another language needs no change here.
func TestMenus(t *testing.T) {
	pseudo := make(texts.Messages)
	for _, key := range texts.Keys() {
		pseudo[key] = make(texts.Template)
		for form, text := range texts.For(texts.English).Template(key) {
			pseudo[key][form] = "⟦" + text + "⟧"
		}
	}
	for lang, say := range map[string]texts.Printer{texts.English: texts.For(texts.English), "qps": texts.Of("qps", pseudo)} {
		for which, v := range views {
			got := fmt.Sprintf("%s: %s\n\n%s", v.state(), marked.Replace(tooltip(v, say)), draw(menu(v, say), ""))
			golden := filepath.Join("testdata", lang, which+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "%s: if this is meant, run the test with -update", golden)
		}
	}
}

// marked shows where a name is isolated.
var marked = strings.NewReplacer("\u2068", "<", "\u2069", ">")

// draw writes a menu as text.
func draw(items []item, indent string) string {
	return drawBy(items, indent, func(it item) string {
		mark := "- "
		switch {
		case it.Check != nil && *it.Check:
			mark = "[x] "
		case it.Check != nil:
			mark = "[ ] "
		case it.Action != "" && !it.Disabled:
			mark = "> "
		case it.Action != "":
			mark = "(>) "
		}
		return mark + marked.Replace(it.Text)
	})
}

// drawBy writes the rows that are shown.
func drawBy(items []item, indent string, row func(item) string) string {
	var b strings.Builder
	for _, it := range items {
		switch {
		case it.Separator:
			b.WriteString(indent + "---\n")
		case it.Text != "":
			b.WriteString(indent + row(it) + "\n" + drawBy(it.Children, indent+"    ", row))
		}
	}
	return b.String()
}

// shape is a menu without what may change while it is open.
func shape(items []item) (s string) {
	for _, it := range items {
		s += fmt.Sprintf("%v %s %v (%s)\n", it.Separator, it.Action, it.Check != nil, shape(it.Children))
	}
	return s
}

// TestAllMenusHaveTheSameRows: only so is an open menu never built anew.
func TestAllMenusHaveTheSameRows(t *testing.T) {
	want := shape(menu(view{}, texts.For(texts.English)))
	for which, v := range views {
		for _, lang := range texts.Shipped.Languages() {
			require.Equal(t, want, shape(menu(v, texts.For(lang))), which)
		}
	}
}

// TestEveryRowFits in every language that there is: it says something, is no longer than a row may be, and leaves nothing open.
func TestEveryRowFits(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	marks := strings.NewReplacer("\u2068", "", "\u2069", "") // which take no room
	raw := regexp.MustCompile(`\{[a-z]|tray\.|\x{202e}`)
	seen := make(map[string]bool)
	var check func(items []item)
	check = func(items []item) {
		for _, it := range items {
			check(it.Children)
			if seen[it.Text] {
				continue
			}
			seen[it.Text] = true
			drawn := marks.Replace(it.Text)
			require.LessOrEqual(t, utf8.RuneCountInString(drawn), maxLine, it.Text)
			require.Equal(t, strings.Count(it.Text, "\u2068"), strings.Count(it.Text, "\u2069"), it.Text)
			require.NotRegexp(t, raw, it.Text)
			require.True(t, utf8.ValidString(it.Text))
		}
	}
	for _, v := range views {
		for _, lang := range texts.Shipped.Languages() {
			check(menu(v, texts.For(lang)))
		}
	}
	for _, c := range healthtest.Recorded() {
		for _, lang := range texts.Shipped.Languages() {
			check(menu(viewOf(conditions(c)), texts.For(lang)))
		}
	}
}

// TestEveryMenuIsOfItsLanguage: no word of another one is in it, but names.
func TestEveryMenuIsOfItsLanguage(t *testing.T) {
	names := []string{
		"Sidetone", "Very long name", "Ve…", "Headset", "Acme", "Audio", "Webcam", "Dock", "Desk", "Client", "Mic", "Discord PTB",
		"no browser", "default",
	}
	for which, v := range views {
		for _, lang := range texts.Shipped.Languages() {
			if lang == texts.English {
				continue
			}
			shown := marked.Replace(tooltip(v, texts.For(lang))) + "\n" + draw(menu(v, texts.For(lang)), "")
			plain := strings.NewReplacer("<", "", ">", "", "[x]", "", "[ ]", "", "- ", "").Replace(shown)
			require.Empty(t, textstest.Foreign(lang, strings.ReplaceAll(plain, "\n", " "), names...), "%s in %s: %s", which, lang, shown)
		}
	}
}

// TestFlagsFitInARow: what each flag is and where that comes from needs no more room than a menu has.
func TestFlagsFitInARow(t *testing.T) {
	for _, lang := range texts.Shipped.Languages() {
		b := builder{view{}, texts.For(lang)}
		for _, f := range devices.Fields {
			for _, key := range texts.Keys() {
				via, is := strings.CutPrefix(key, "origin.")
				if !is {
					continue
				}
				via, shared := strings.CutSuffix(via, "_shared")
				for _, value := range []devices.Tri{devices.True, devices.False} {
					if shared && f != devices.HardwareMute {
						continue
					}
					row := b.flag(f, devices.Flag{Value: value, Origin: devices.Origin{Via: via, Shared: shared}}).Text
					require.LessOrEqual(t, utf8.RuneCountInString(row), 75, "%s: %s", lang, row)
				}
			}
		}
	}
}

func TestIconTellsWhatMattersMost(t *testing.T) {
	for want, list := range map[icon.State][]string{
		icon.Reporting: {"reporting", "default_input", "many_products"},
		icon.Muted:     {"muted", "right_to_left"},
		icon.NoClient:  {"no_client", "nothing", "paused", "paused_open"},
		icon.Trouble:   {"trouble"},
		icon.Down:      {"down", "starting", "silent"},
	} {
		for _, which := range list {
			require.Equal(t, want, views[which].state(), which)
		}
	}
}

func TestWrap(t *testing.T) {
	long := "The \u2068" + strings.Repeat("long ", 30) + "name\u2069 is bad."
	rows := wrap(long, 3)
	require.Len(t, rows, 3)
	plain := strings.NewReplacer("\u2068", "", "\u2069", "")
	require.Equal(t, plain.Replace(long), plain.Replace(strings.Join(rows, " ")))
	for _, row := range rows {
		require.Equal(t, 1, strings.Count(row, "\u2068"), row)
	}
	require.Equal(t, []string{"short"}, wrap("short", 3))
	require.Equal(t, []string{strings.Repeat("字", 80), strings.Repeat("字", 79) + "…"}, wrap(strings.Repeat("字", 200), 2))
}

func TestShorten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"abcde", "abcde"},
		{"abcdef", "abcd…"},
		{"abc  fgh", "abc…"},
		{"abcde\u0301f", "abcd…"},          // e with an accent
		{"abce\u0301fg", "abc…"},           // the same, at the cut
		{"abc👍🏽de", "abc…"},                // a skin colour
		{"🇩🇪🇫🇷🇮🇹", "🇩🇪🇫🇷…"},                // flags are of two letters each
		{"a🇩🇪🇫🇷🇮🇹", "a🇩🇪…"},                // likewise
		{"abc\u1112\u1161\u11abd", "abc…"}, // a syllable of three parts
		{"ab\u2068cdefg\u2069", "ab\u2068c…\u2069"},
	} {
		require.Equal(t, c.want, shorten(c.text, 5), "%q", c.text)
	}
}
