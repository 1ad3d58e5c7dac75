package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
	"sidetone/internal/service"
	"sidetone/internal/texts"
	"sidetone/internal/texts/textstest"
)

// TestLanguage: what a person reads is English, or as --lang says; one that there is not is refused by every verb.
func TestLanguage(t *testing.T) {
	t.Parallel()
	alone := []string{"doctor", "--control-socket", filepath.Join(t.TempDir(), "none"), "--sources-audio=false", "--sources-camera=false", "--catalogue", acme(t, "schema: 1", "schema: 1")}
	inJapanese := []string{"LANG=ja_JP.UTF-8"}
	for lang, want := range map[string]string{
		"": "No agent runs for this user", "de": "Für diesen Benutzer läuft kein Agent", "auto": "このユーザーのエージェントが実行されていない",
	} {
		args := alone
		if lang != "" {
			args = append([]string{"--lang", lang}, alone...)
		}
		o := sidetone(t, inJapanese, args...)
		require.Equal(t, exitFailed, o.code, o.stderr)
		require.Contains(t, o.stdout, want)
	}
	require.Contains(t, sidetone(t, inJapanese, append(alone, "--lang=de", "--json")...).stdout, "No agent runs", "for programs")
	for _, verb := range [][]string{{"version"}, {"service", "status"}, {"status"}} {
		isBadInput(t, sidetone(t, nil, append(verb, "--lang", "tlh")...), `--lang: no language "tlh": want one of auto, de, en, es`)
	}
}

// TestEveryVerbInEveryLanguage: of what the verbs print for a person, nothing is in English but names that commands and files have.
func TestEveryVerbInEveryLanguage(t *testing.T) {
	t.Parallel()
	p := doctortest.New(t)
	p.Twins("A1", "A2")
	p.Endpoints[0].Mute = devices.Unknown
	p.Push(2, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
	p.Session(control.Session{State: "slow", Port: 6463, Since: doctortest.Now, Muted: []string{"Mic"}})
	p.Resolve(t)
	p.Status.Vendor, p.Status.Catalogue = "Acme Audio", "acme.yaml"
	p.Status.Products, p.Status.Pause = control.ProductsOf(p.Devices.Reported), &control.Pause{}
	p.Status.Conditions = control.ConditionsOf(doctor.Standing(p.Facts))
	for _, lang := range texts.Shipped.Languages() {
		say := health.Texts{Printer: texts.For(lang)}
		var b strings.Builder
		require.NoError(t, printStatus(&b, say, *p.Status, p.Devices, p.Now))
		require.NoError(t, explain(&b, say, p.Facts, p.Devices.Endpoints[0]))
		require.NoError(t, printFindings(&b, say, doctor.Examine(p.Facts)))
		for _, st := range []service.State{{Kind: service.Systemd, Running: true, PID: 7, Since: p.Now}, {Kind: service.Autostart, Waiting: true}, {Kind: service.Systemd}} {
			st.Path = "/u/acme.service"
			require.NoError(t, printService(&b, words{say, p.Now}, serviceStatus{State: st}))
		}
		w := words{say, p.Now}
		b.WriteString(strings.Join(append(w.newConditions(nil, p.Status.Conditions), control.Difference(w.Printer, control.Status{}, *p.Status)...), "\n"))
		if lang != texts.English && strings.ContainsAny(lang, "jkz") {
			names := []string{
				"sidetone", "https://acme.example", "Acme Audio", "Acme Headset 700", "Acme mic", "Acme out", "Acme", "acme", "audioinput", "audiooutput", "hardware_mute", "unknown", "working", "slow", "ready",
				"suite", "Suite", "Mic", "type", "id", "vendor", "model", "related", "derive", "const", "systemd", "A1", "A2", "twin", "mic", "out", "hid",
			}
			for _, line := range strings.Split(b.String(), "\n") {
				assert.Empty(t, textstest.Foreign(lang, line, names...), "%s: %s", lang, line)
			}
		}
	}
}
