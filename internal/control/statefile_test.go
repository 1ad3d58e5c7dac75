package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

const aState = `{"product": "acme-700", "owner": "suite", "ttl_ms": 15000, "state": {"hardware_mute": true}}`

func TestParseStates(t *testing.T) {
	yes := true
	muted := StatedPush{
		PushRequest: PushRequest{Owner: "suite", TTLms: 15000, State: map[devices.Field]*bool{devices.HardwareMute: &yes}},
		Product:     "acme-700",
	}
	at := func(p StatedPush, at string) StatedPush { p.At = at; return p }

	got, err := ParseStates("s.json", []byte(aState))
	require.NoError(t, err)
	require.Equal(t, []StatedPush{at(muted, "s.json:1:1")}, got)

	got, err = ParseStates("s.json", []byte("\uFEFF\r\n  "+aState+"\r\n"))
	require.NoError(t, err, "as the editors and libraries of Windows write it")
	require.Equal(t, []StatedPush{at(muted, "s.json:2:3")}, got)

	got, err = ParseStates("s.json", []byte(`[
  `+aState+`, {"product": "ö", "owner": "suite", "serial": "A1", "seq": 7, "ttl_ms": 86400000,
    "state": {"hardware_mute": null}, "later": [1]},
	{"product": "acme-700", "owner": "other", "ttl_ms": 1, "state": {"hardware_mute": true}}
]`))
	require.NoError(t, err)
	require.Equal(t, []StatedPush{
		at(muted, "s.json:2:3"),
		{
			PushRequest: PushRequest{Owner: "suite", Serial: "A1", Seq: 7, TTLms: 86400000, State: map[devices.Field]*bool{devices.HardwareMute: nil}},
			Product:     "ö", At: fmt.Sprintf("s.json:2:%d", len("  "+aState+", ")+1),
		},
		at(StatedPush{PushRequest: PushRequest{Owner: "other", TTLms: 1, State: muted.State}, Product: "acme-700"}, "s.json:4:2"),
	}, got)

	for _, none := range []string{"[]", " [ ]\n"} {
		got, err = ParseStates("s.json", []byte(none))
		require.NoError(t, err)
		require.Empty(t, got)
	}
}

func TestStateFileProblems(t *testing.T) {
	with := func(old, mistaken string) string {
		require.Contains(t, aState, old)
		return strings.Replace(aState, old, mistaken, 1)
	}
	many := make([]string, maxStates+1)
	for i := range many {
		many[i] = with("suite", fmt.Sprintf("suite %d", i))
	}
	for _, c := range []struct{ content, want string }{
		{"", "s.json:1:1: the file is empty (write [] if there is nothing to say, and write a whole file under another name and rename it into place)"},
		{" \n", "s.json:1:1: the file is empty"},
		{aState[:40], "s.json:1:41: not JSON: unexpected end of JSON input (write a whole file under another name and rename it into place)"},
		{"[\n  " + aState + ",\n  ", "s.json:3:3: not JSON: unexpected end"},
		{"[\n  ö]", "s.json:2:3: not JSON: invalid character"},
		{"[\n" + aState + "\n" + aState + "]", "s.json:3:1: not JSON: invalid character '{' after array element"},
		{aState + "\n" + aState, "s.json:2:1: not JSON: invalid character '{' after top-level value"},
		{"{\"owner\": \"ö\xff\"}", "s.json:1:13: not UTF-8 text (save the file as UTF-8)"},
		{strings.Repeat("[", 20000), "s.json:1:10001: not JSON: "},
		{"null", "s.json:1:1: $: want an object, not null"},
		{"7", "s.json:1:1: $: want an object, not a number"},
		{`[` + aState + `, "x"]`, fmt.Sprintf("s.json:1:%d: $[1]: want an object, not text", len(aState)+4)},
		{"[[" + aState + "]]", "s.json:1:2: $[0]: want an object, not a list"},
		{with(`"product": "acme-700", `, ""), "s.json:1:1: $.product: want the id of a product, 1 to 128 printable characters"},
		{with(`"acme-700"`, `7`), "$.product: want the id of a product"},
		{with(`"acme-700"`, `""`), "$.product: want the id of a product"},
		{with(`acme-700`, `a/b`), "$.product: want the id of a product"},
		{with(`"ttl_ms": 15000, `, ""), "s.json:1:1: $.ttl_ms: a state in a file needs a lease, from 1 to 86400000"},
		{with(`15000`, "0"), "$.ttl_ms: a state in a file needs a lease"},
		{with(`15000`, "86400001"), "$.ttl_ms: want a whole number from 0 to 86400000, not 86400001"},
		{with(`"owner": "suite", `, ""), "$.owner: missing"},
		{with(`hardware_mute`, "hardware_mut"), `$.state: there is no flag "hardware_mut"; did you mean "hardware_mute"?`},
		{"[\n" + aState + ",\n" + with("true", "1") + "]", "s.json:3:1: $[1].state.hardware_mute: want true, false or null, not a number"},
		{with(`"owner"`, `"product": "x", "owner"`), "$.product: given twice"},
		{with(`"owner"`, `"a\u000ab": 1, "a\u000ab": 2, "owner"`), "$.a b: given twice"},
		{"[" + aState + ",\n" + with("true", "false") + "]", "s.json:2:1: $[1]: says again what $[0] says, of one product, serial and owner: leave one out"},
		{"[" + strings.Join(many, ",\n") + "]", "s.json:257:1: $[256]: more than 256 states"},
	} {
		got, err := ParseStates("s.json", []byte(c.content))
		require.ErrorContains(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), "s.json:"), err)
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 300)
		require.Nil(t, got)
	}
}

// TestEveryCutOfAStateFile: what is half written never passes for the whole.
func TestEveryCutOfAStateFile(t *testing.T) {
	for _, whole := range []string{aState, "[" + aState + ",\n" + strings.Replace(aState, "suite", "other", 1) + "]"} {
		for n := range whole {
			_, err := ParseStates("s.json", []byte(whole[:n]))
			require.Error(t, err, whole[:n])
		}
	}
}

func FuzzParseStates(f *testing.F) {
	f.Add([]byte(aState))
	f.Add([]byte("[" + aState + "]"))
	for _, c := range pushCases {
		f.Add([]byte(c.body))
		f.Add([]byte("[" + strings.Replace(c.body, "{", `{"product":"acme-700",`, 1) + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pushes, err := ParseStates("f", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f:") && !strings.ContainsAny(err.Error(), "\n\r\x1b"), "%q", err.Error())
			return
		}
		require.LessOrEqual(t, len(pushes), maxStates)
		for _, p := range pushes {
			require.True(t, strings.HasPrefix(p.At, "f:"))
			require.Positive(t, p.TTLms)
			body, err := json.Marshal(p.PushRequest)
			require.NoError(t, err)
			same, err := parsePush(body)
			require.NoError(t, err, "what a file may say, a request may say")
			require.Equal(t, p.PushRequest, same)
		}
	})
}
