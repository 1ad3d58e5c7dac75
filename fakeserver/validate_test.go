package fakeserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// edit replaces a part of the good microphone, which must be there.
func edit(t *testing.T, old, with string) string {
	t.Helper()
	require.Contains(t, mic, old)
	return strings.Replace(mic, old, with, 1)
}

func TestRejections(t *testing.T) {
	one := func(old, with string) string { return msg("n", speaker, edit(t, old, with)) }
	for name, tc := range map[string]struct {
		raw    string
		code   int
		reason string // the whole text of the rejection, or its beginning when it ends in "…"
	}{
		"empty":                {"", 1003, "message: not JSON: EOF"},
		"cut off":              {`{"nonce":`, 1003, "message: not JSON: unexpected EOF"},
		"two values":           {`{} {}`, 1003, "message: not JSON: something follows at byte 4"},
		"not UTF-8":            {"{\"nonce\":\"\xff\"}", 1003, "message: not JSON: not UTF-8"},
		"null":                 {`null`, 4000, "message: null, not an object"},
		"array":                {`[]`, 4000, "message: an array, not an object"},
		"nonce missing":        {`{"cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`, 4000, "nonce: missing"},
		"nonce empty":          {msg(""), 4000, "nonce: empty string"},
		"nonce number":         {`{"nonce":1}`, 4000, "nonce: a number, not a string"},
		"nonce before command": {`{"cmd":"X"}`, 4000, "nonce: missing"},
		"command missing":      {`{"nonce":"n"}`, 4002, "cmd: missing"},
		"command unknown":      {`{"nonce":"n","cmd":"GET_GUILD"}`, 4002, `cmd: unknown command "GET_GUILD"`},
		"command null":         {`{"nonce":"n","cmd":null}`, 4002, "cmd: unknown command null"},
		"command case":         {`{"nonce":"n","cmd":"set_certified_devices"}`, 4002, "cmd: unknown command …"},
		"args missing":         {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES"}`, 4000, "args: missing"},
		"args null":            {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":null}`, 4000, "args: null, not an object"},
		"args array":           {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":[]}`, 4000, "args: an array, not an object"},
		"devices missing":      {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{}}`, 1000, "devices: missing"},
		"devices null":         {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":null}}`, 4000, "devices: null, not an array"},
		"devices object":       {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":{}}}`, 4000, "devices: an object, not an array"},
		"device null":          {msg("n", mic, "null"), 4000, "devices[1]: null, not an object"},
		"device string":        {msg("n", `"mic"`), 4000, "devices[0]: a string, not an object"},
		"type missing":         {one(`"type":"audioinput",`, ""), 4000, "devices[1].type: missing"},
		"type null":            {one(`"audioinput"`, "null"), 4000, "devices[1].type: null, not a string"},
		"type unknown":         {one(`"audioinput"`, `"microphone"`), 4000, `devices[1].type: "microphone" is none of audioinput, audiooutput, videoinput`},
		"type empty":           {one(`"audioinput"`, `""`), 4000, "devices[1].type: empty string"},
		"type case":            {one(`"audioinput"`, `"AudioInput"`), 4000, `devices[1].type: "AudioInput" is none of …`},
		"id missing":           {one(`"id":"mic",`, ""), 4000, "devices[1].id: missing"},
		"id empty":             {one(`"id":"mic"`, `"id":""`), 4000, "devices[1].id: empty string"},
		"id number":            {one(`"id":"mic"`, `"id":7`), 4000, "devices[1].id: a number, not a string"},
		"id null":              {one(`"id":"mic"`, `"id":null`), 4000, "devices[1].id: null, not a string"},
		"key case":             {one(`"id":"mic"`, `"ID":"mic"`), 4000, "devices[1].id: missing"},
		"vendor missing":       {one(`"vendor":{"name":"Acme","url":"https://acme.test"},`, ""), 4000, "devices[1].vendor: missing"},
		"vendor null":          {one(`{"name":"Acme","url":"https://acme.test"}`, "null"), 4000, "devices[1].vendor: null, not an object"},
		"vendor string":        {one(`{"name":"Acme","url":"https://acme.test"}`, `"Acme"`), 4000, "devices[1].vendor: a string, not an object"},
		"vendor name empty":    {one(`"name":"Acme"`, `"name":""`), 4000, "devices[1].vendor.name: empty string"},
		"vendor name null":     {one(`"name":"Acme"`, `"name":null`), 4000, "devices[1].vendor.name: null, not a string"},
		"vendor url empty":     {one(`"url":"https://acme.test"}`, `"url":""}`), 4000, "devices[1].vendor.url: empty string"},
		"vendor url boolean":   {one(`"url":"https://acme.test"}`, `"url":true}`), 4000, "devices[1].vendor.url: a boolean, not a string"},
		"model missing":        {one(`"model":{"name":"Headset 700","url":"https://acme.test/700"},`, ""), 4000, "devices[1].model: missing"},
		"model array":          {one(`{"name":"Headset 700","url":"https://acme.test/700"}`, "[]"), 4000, "devices[1].model: an array, not an object"},
		"model name empty":     {one(`"name":"Headset 700"`, `"name":""`), 4000, "devices[1].model.name: empty string"},
		"model url empty":      {one(`"https://acme.test/700"`, `""`), 4000, "devices[1].model.url: empty string"},
		"related missing":      {one(`,"related":["out"]`, ""), 1000, "devices[1].related: missing (an empty array is fine)"},
		"related null":         {one(`["out"]`, "null"), 4000, "devices[1].related: null, not an array"},
		"related string":       {one(`["out"]`, `"out"`), 4000, "devices[1].related: a string, not an array"},
		"related empty string": {one(`["out"]`, `["out",""]`), 4000, "devices[1].related[1]: empty string"},
		"related number":       {one(`["out"]`, `[1]`), 4000, "devices[1].related[0]: a number, not a string"},
		"boolean as string":    {one(`"hardware_mute":true`, `"hardware_mute":"true"`), 4000, "devices[1].hardware_mute: a string, not a boolean"},
		"boolean as number":    {one(`"hardware_mute":true`, `"echo_cancellation":1`), 4000, "devices[1].echo_cancellation: a number, not a boolean"},
		"boolean null":         {one(`"hardware_mute":true`, `"noise_suppression":null`), 4000, "devices[1].noise_suppression: null, not a boolean"},
		"boolean object":       {one(`"hardware_mute":true`, `"automatic_gain_control":{}`), 4000, "devices[1].automatic_gain_control: an object, not a boolean"},
		"boolean elsewhere":    {msg("n", strings.Replace(speaker, `"related"`, `"hardware_mute":0,"related"`, 1)), 4000, "devices[0].hardware_mute: a number, not a boolean"},
		"several": {
			msg("n", `{"type":"audioinput"}`), 4000,
			"devices[0].id: missing; devices[0].vendor: missing; devices[0].model: missing",
		},
		"schema before related": {msg("n", `{"type":"audioinput","id":"","vendor":{},"model":{}}`), 4000, "devices[0].id: empty string"},
		"huge number":           {one(`"hardware_mute":true`, `"hardware_mute":1e999`), 4000, "devices[1].hardware_mute: a number, not a boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse([]byte(tc.raw), false)
			require.NotNil(t, m.err)
			require.Equal(t, tc.code, m.err.Code)
			if start, cut := strings.CutSuffix(tc.reason, "…"); cut {
				require.True(t, strings.HasPrefix(m.err.Error(), start), m.err.Error())
			} else {
				require.Equal(t, tc.reason, m.err.Error())
			}
			require.Nil(t, m.devices)
		})
	}
}

func TestManyReasonsAreCut(t *testing.T) {
	m := parse([]byte(msg("n", strings.Repeat("{},", 1000)+"{}")), false)
	require.Len(t, m.err.Reasons, maxReasons+1)
	require.Equal(t, "and more", m.err.Reasons[maxReasons])

	bare := `{"type":"audioinput","id":"a","vendor":{},"model":{}}`
	m = parse([]byte(msg("n", strings.Repeat(bare+",", 1000)+bare)), false)
	require.Equal(t, codeUnknown, m.err.Code)
	require.Len(t, m.err.Reasons, maxReasons+1)
}

func TestAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  string
		want string
	}{
		"empty list": {msg("n"), `[]`},
		"full": {msg("n", mic, speaker), `[` +
			`{"type":"audioinput","id":"mic","vendor":{"name":"Acme","url":"https://acme.test"},"model":{"name":"Headset 700","url":"https://acme.test/700"},"related":["out"],"hardware_mute":true},` +
			`{"type":"audiooutput","id":"out","vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":["mic"]}]`},
		"names absent": {msg("n", cameraDev), `[{"type":"videoinput","id":"cam","vendor":{},"model":{},"related":[]}]`},
		"all flags": {
			msg("n", `{"type":"audioinput","id":"a","vendor":{},"model":{},"related":[],"echo_cancellation":true,"noise_suppression":false,"automatic_gain_control":true,"hardware_mute":false}`),
			`[{"type":"audioinput","id":"a","vendor":{},"model":{},"related":[],"echo_cancellation":true,"noise_suppression":false,"automatic_gain_control":true,"hardware_mute":false}]`,
		},
		"escapes": {msg("n", strings.Replace(cameraDev, "cam", `\u00e9`, 1)), `[{"type":"videoinput","id":"é","vendor":{},"model":{},"related":[]}]`},
		"space":   {" " + msg("n") + "\n", `[]`},
		"last key wins": {
			msg("n", strings.Replace(cameraDev, `"id":"cam"`, `"id":"","id":"cam"`, 1)),
			`[{"type":"videoinput","id":"cam","vendor":{},"model":{},"related":[]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse([]byte(tc.raw), false)
			require.Nil(t, m.err)
			require.Equal(t, "n", m.nonce)
			require.Equal(t, tc.want, compact(t, m.devices))
			require.Empty(t, m.warnings)
		})
	}
}

func TestWarnings(t *testing.T) {
	same := func(kind string) string {
		return `{"type":"` + kind + `","id":"one","vendor":{},"model":{},"related":[]}`
	}
	for name, tc := range map[string]struct {
		raw  string
		want []string
	}{
		"key of the message": {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","evt":null,"args":{"devices":[]}}`, []string{`message: unknown key "evt"`}},
		"key of args":        {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[],"b":1,"a":2}}`, []string{`args: unknown key "a", "b"`}},
		"key of a device":    {msg("n", edit(t, `"id"`, `"serial":"1","id"`), speaker), []string{`devices[0]: unknown key "serial"`}},
		"key of the vendor":  {msg("n", edit(t, `"name":"Acme"`, `"name":"Acme","id":1`), speaker), []string{`devices[0].vendor: unknown key "id"`}},
		"key of the model":   {msg("n", edit(t, `"name":"Headset 700"`, `"name":"Headset 700","\u001b":1`), speaker), []string{`devices[0].model: unknown key "\x1b"`}},
		"flag elsewhere": {
			msg("n", strings.Replace(cameraDev, `"related"`, `"noise_suppression":true,"hardware_mute":false,"related"`, 1)),
			[]string{"devices[0].noise_suppression: only for an audioinput device, ignored", "devices[0].hardware_mute: only for an audioinput device, ignored"},
		},
		"related elsewhere":   {msg("n", mic), []string{`devices[0].related[0]: "out" is not the id of a device in the list`}},
		"not ASCII":           {msg("n", strings.Replace(cameraDev, "cam", "é", 1)), []string{`message: non-ASCII byte at 89: escape it as \uXXXX`}},
		"audioinput hidden":   {msg("n", same(AudioInput), same(AudioOutput)), []string{"devices[0]: hidden by devices[1], which has the same id: the audioinput must come last"}},
		"audioinput last":     {msg("n", same(AudioOutput), same(AudioInput)), nil},
		"outputs share an id": {msg("n", same(AudioOutput), same(VideoInput)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse([]byte(tc.raw), false)
			require.Nil(t, m.err)
			require.Equal(t, tc.want, m.warnings)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		msg("n", mic, speaker, cameraDev), msg("n"), msg(""), "", "null", "[]", `{"nonce":"n","cmd":"X"}`,
		msg("n", `{"type":"audioinput","id":"é","vendor":{"x":1},"model":{"name":""},"related":[1]}`),
		msg("n", `{"type":"audioinput","id":"a","vendor":{},"model":{}}`), "{\"a\":\"\xff\"}", strings.Repeat("[", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := parse(raw, false)
		v := judge(m, nil)
		require.True(t, json.Valid(v.body))
		if m.err != nil {
			require.NotEmpty(t, m.err.Reasons)
			require.Contains(t, []int{1000, 1003, 4000, 4002}, m.err.Code)
			require.Nil(t, m.devices)
			for _, r := range m.err.Error() {
				require.True(t, unicode.IsPrint(r), "%q", m.err.Error())
			}
			return
		}
		require.Equal(t, command, m.cmd)
		require.NotEmpty(t, m.nonce)
		// What was understood says the same when it is sent again.
		list, err := json.Marshal(m.devices)
		require.NoError(t, err)
		again := parse([]byte(`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":`+string(list)+`}}`), false)
		require.Nil(t, again.err)
		require.Equal(t, m.devices, again.devices)
		require.Equal(t, "", strings.Map(control, Describe(nil, m.devices)))
	})
}

// control keeps only what could act on a terminal.
func control(r rune) rune {
	if unicode.IsGraphic(r) {
		return -1
	}
	return r
}

func TestHugeBodyOfAHugeNonce(t *testing.T) {
	t.Parallel()
	nonce, cmd := strings.Repeat("<", maxMessage), command
	require.Greater(t, len(hugeBody(&cmd, &nonce)), hugeSize)
	nonce = "n"
	require.Len(t, hugeBody(&cmd, &nonce), hugeSize)
	require.True(t, json.Valid(hugeBody(nil, nil)))
}
