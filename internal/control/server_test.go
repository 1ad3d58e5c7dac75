package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

func problemIn(t *testing.T, body string) Problem {
	t.Helper()
	var p Problem
	require.NoError(t, json.Unmarshal([]byte(body), &p), body)
	require.NotEmpty(t, p.Message)
	return p
}

func TestAnswers(t *testing.T) {
	s := serve(t, nil)
	answer, body := s.ask("GET", "/v1/status?x=1", "")
	require.Equal(t, 200, answer.StatusCode)
	require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
	require.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"))
	var got Status
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, s.backend.status, got)

	_, body = s.ask("GET", "/v1/devices", "")
	require.Contains(t, body, "Acme <700> Mono", "no HTML here")

	for _, what := range []string{"refresh", "reload"} {
		answer, body = s.ask("POST", "/v1/"+what, "")
		require.Equal(t, 204, answer.StatusCode)
		require.Empty(t, body)
		require.Equal(t, 1, s.backend.calls[what])
	}
	s.backend.broken = errors.New("acme.yaml:3:5: unknown key")
	answer, body = s.ask("POST", "/v1/reload", "")
	require.Equal(t, 422, answer.StatusCode)
	require.Equal(t, "the old settings and catalogue stay in force: acme.yaml:3:5: unknown key", problemIn(t, body).Message)
	answer, body = s.ask("GET", "/v1/bundle", "")
	require.Equal(t, 500, answer.StatusCode)
	require.Equal(t, CodeInternal, problemIn(t, body).Code)
}

func TestPathsAndMethods(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		code         Code
	}{
		{"GET", "/", 404, CodePath},
		{"GET", "/v1", 404, CodePath},
		{"GET", "/v2/status", 404, CodePath},
		{"GET", "/v1/status/", 404, CodePath},
		{"GET", "/v1//status", 404, CodePath},
		{"GET", "/v1/../v1/status", 404, CodePath},
		{"GET", "/v1/./status", 404, CodePath},
		{"GET", "/v1/%73tatus", 404, CodePath},
		{"GET", "/v1/%2e%2e/v1/status", 404, CodePath},
		{"GET", "/v1/status%00", 404, CodePath},
		{"GET", "/V1/STATUS", 404, CodePath},
		{"GET", "/v1/status;x", 404, CodePath},
		{"GET", "/v1/states/", 404, CodePath},
		{"PUT", "/v1/states", 404, CodePath},
		{"PUT", "/v1/states/a/b", 404, CodePath},
		{"PUT", "/v1/states/{product}/", 404, CodePath},
		{"GET", "/" + strings.Repeat("x", 10_000), 404, CodePath},
		{"PUT", "/v1/states/a%2Fb", 400, CodeInvalid},
		{"PUT", "/v1/states/a%00b", 400, CodeInvalid},
		{"PUT", "/v1/states/a%0Ab", 400, CodeInvalid},
		{"PUT", "/v1/states/%FF", 400, CodeInvalid},
		{"PUT", "/v1/states/" + strings.Repeat("x", maxProduct+1), 400, CodeInvalid},
		{"PUT", "/v1/status", 405, CodeMethod},
		{"POST", "/v1/status", 405, CodeMethod},
		{"DELETE", "/v1/states/acme-700", 405, CodeMethod},
		{"GET", "/v1/states/acme-700", 405, CodeMethod},
		{"GET", "/v1/refresh", 405, CodeMethod},
		{"get", "/v1/status", 405, CodeMethod},
		{"OPTIONS", "/v1/status", 405, CodeMethod},
		{"OPTIONS", "*", 404, CodePath},
		{"TRACE", "/v1/status", 405, CodeMethod},
		{"HEAD", "/v1/status", 405, ""},
	} {
		answer, body := s.ask(c.method, c.path, "")
		require.Equal(t, c.status, answer.StatusCode, "%s %.60s: %s", c.method, c.path, body)
		if c.code != "" {
			p := problemIn(t, body)
			require.Equal(t, c.code, p.Code)
			require.Less(t, len(body), 400, "an answer does not repeat all that was sent")
		}
		require.Equal(t, c.status == 405, answer.Header.Get("Allow") != "", "%s %s", c.method, c.path)
	}
	require.Empty(t, s.backend.calls)
	require.Empty(t, s.backend.products)
}

func TestBrowsersAndRelays(t *testing.T) {
	s := serve(t, nil)
	for _, host := range []string{"sidetone", "localhost"} {
		answer, _ := s.ask("GET", "/v1/status", "", "Host", host)
		require.Equal(t, 200, answer.StatusCode, host)
	}
	before := s.backend.calls["status"]
	for _, header := range [][]string{
		{"Origin", "http://localhost"},
		{"Origin", "null"},
		{"Origin", ""},
		{"Referer", "https://example.org/"},
		{"Referer", ""},
		{"Sec-Fetch-Site", "cross-site"},
		{"Host", "example.org"},
		{"Host", "localhost.example.org"},
		{"Host", "localhost:80"},
		{"Host", "127.0.0.1"},
		{"Host", "sidetone."},
		{"Host", "SIDETONE"},
	} {
		for _, path := range []string{"/v1/status", "/v1/watch", "/nowhere"} {
			answer, body := s.ask("GET", path, "", header...)
			require.Equal(t, 403, answer.StatusCode, "%v", header)
			require.Equal(t, CodeForbidden, problemIn(t, body).Code)
			require.True(t, answer.Close, "nothing more is read from it")
		}
	}
	require.Equal(t, before, s.backend.calls["status"])
	require.Zero(t, s.backend.calls["watch"])
}

func TestBodies(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		code               Code
	}{
		{"PUT", "/v1/states/x", aPush, []string{"Content-Type", "-"}, 415, CodeMediaType},
		{"PUT", "/v1/states/x", aPush, []string{"Content-Type", "text/plain"}, 415, CodeMediaType},
		{"PUT", "/v1/states/x", aPush, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, CodeMediaType},
		{"PUT", "/v1/states/x", aPush, []string{"Content-Type", "application/json-seq"}, 415, CodeMediaType},
		{"PUT", "/v1/states/x", aPush, []string{"Content-Type", "application/json; charset=utf-8"}, 200, ""},
		{"PUT", "/v1/states/x", "", []string{"Content-Type", "application/json"}, 400, CodeInvalid},
		{"GET", "/v1/status", "{}", nil, 400, CodeInvalid},
		{"GET", "/v1/watch", "{}", nil, 400, CodeInvalid},
		{"POST", "/v1/refresh", "{}", nil, 400, CodeInvalid},
		{"POST", "/v1/reload", "x", nil, 400, CodeInvalid},
	} {
		answer, body := s.ask(c.method, c.path, c.body, c.header...)
		require.Equal(t, c.status, answer.StatusCode, "%+v %s", c, body)
		if c.code != "" {
			require.Equal(t, c.code, problemIn(t, body).Code)
		}
	}
	require.Len(t, s.backend.products, 1)
	require.Zero(t, s.backend.calls["refresh"]+s.backend.calls["reload"])
}

func TestRefusalsOfTheBackend(t *testing.T) {
	s := serve(t, func(l *limits) { l.push = time.Millisecond })
	for _, c := range []struct {
		err    error
		status int
		code   Code
	}{
		{&Refusal{Kind: ErrUnknown, Message: "m", Candidates: []string{"a"}}, 404, CodeUnknown},
		{&Refusal{Kind: ErrAmbiguous, Message: "m", Candidates: []string{"a"}}, 409, CodeAmbiguous},
		{&Refusal{Kind: ErrStale, Message: "m"}, 409, CodeStale},
		{fmt.Errorf("wrapped: %w", &Refusal{Kind: fmt.Errorf("more: %w", ErrInvalid), Message: "m"}), 400, CodeInvalid},
		{&Refusal{Kind: errors.New("else"), Message: "m"}, 500, CodeInternal},
		{errors.New("else"), 500, CodeInternal},
	} {
		s.backend.refused = c.err
		answer, body := s.ask("PUT", "/v1/states/x", aPush)
		p := problemIn(t, body)
		require.Equal(t, c.status, answer.StatusCode)
		require.Equal(t, c.code, p.Code)
		var refusal *Refusal
		if c.code != CodeInternal && errors.As(c.err, &refusal) {
			require.Equal(t, refusal.Message, p.Message)
			require.Equal(t, refusal.Candidates, p.Candidates)
		}
	}
	s.backend.refused, s.backend.block = nil, make(chan struct{})
	answer, body := s.ask("PUT", "/v1/states/x", aPush)
	require.Equal(t, 504, answer.StatusCode)
	require.Equal(t, CodeTimeout, problemIn(t, body).Code)
}

// pushCases are bodies of a push; want is what the answer says, "" if it is taken. schema is
// whether the document's schema takes it.
var pushCases = []struct {
	body, want string
	schema     bool
}{
	{`{"owner":"suite","state":{"hardware_mute":true}}`, "ttl_ms", true},
	{aPush, "", true},
	{" \n" + aPush + "\r\n\t", "", true},
	{`{"owner":"ö 😀","ttl_ms":86400000,"seq":18446744073709551615,"serial":"A 1","state":{"hardware_mute":null,"echo_cancellation":false,"noise_suppression":true,"automatic_gain_control":null},"later":{"x":[1]}}`, "", true},
	{`{"owner":"` + strings.Repeat("ö", 64) + `","ttl_ms":1,"state":{"hardware_mute":true}}`, "", true},

	{`{"owner":"x","ttl":5000,"state":{"hardware_mute":true}}`, `$.ttl: did you mean "ttl_ms"?`, true},
	{`{"owner":"x","ttlMs":5000,"state":{"hardware_mute":true}}`, `$.ttlMs: did you mean "ttl_ms"?`, true},
	{`{"owner":"x","tll_ms":5000,"state":{"hardware_mute":true}}`, `$.tll_ms: did you mean "ttl_ms"?`, true},
	{`{"owner":"x","TTL_SECONDS":5,"state":{"hardware_mute":true}}`, `$.TTL_SECONDS: did you mean "ttl_ms"?`, true},
	{`{"owner":"x","ttl_ms":5000,"serial_number":"A1","state":{"hardware_mute":true}}`, `$.serial_number: did you mean "serial"?`, true},
	{`{"owner":"x","ttl_ms":5000,"sequence":7,"state":{"hardware_mute":true}}`, `$.sequence: did you mean "seq"?`, true},
	{`{"owners":"x","state":{"hardware_mute":true}}`, `$.owners: did you mean "owner"? It would be lost`, false},
	{`{"owner":"x","states":{"hardware_mute":true}}`, `$.states: did you mean "state"? It would be lost`, false},
	{`{"owner":"x","ttl_ms":5000,"ttl":5,"owner_version":"1.2","product":"acme-700","version":2,"state":{"hardware_mute":true}}`, "", true},

	{``, "$: the body is empty", false},
	{`{`, "$: not JSON at byte 1", false},
	{aPush + `{}`, "$: not JSON at byte", false},
	{aPush + `x`, "$: not JSON at byte", false},
	{`{"owner":"suite",}`, "$: not JSON at byte", false},
	{"\xef\xbb\xbf" + aPush, "$: not JSON at byte 1", false},
	{`{"owner":"\xff"}`, "$: not JSON at byte", false},
	{"{\"owner\":\"\xff\"}", "$.owner: want printable characters only", false},
	{`[]`, "$: want an object, found array", false},
	{`null`, "$: want an object, found null", false},
	{`"x"`, "$: want an object, found string", false},
	{`{}`, "$.owner: want 1 to 64 characters, not 0", false},
	{`{"OWNER":"x","ttl_ms":1,"state":{"hardware_mute":true}}`, "", false},
	{`{"owner":"x","state":null}`, "$.state: want at least one flag: hardware_mute, ", false},
	{`{"owner":"x"}`, "$.state: want at least one flag: hardware_mute, ", false},
	{`{"owner":"","state":{"hardware_mute":true}}`, "$.owner: want 1 to 64 characters, not 0", false},
	{`{"owner":"` + strings.Repeat("ö", 65) + `","state":{"hardware_mute":true}}`, "$.owner: want 1 to 64 characters, not 65", false},
	{`{"owner":"a\u0000","state":{"hardware_mute":true}}`, "$.owner: want printable characters only", true},
	{`{"owner":"a\u202e","state":{"hardware_mute":true}}`, "$.owner: want printable characters only", true},
	{`{"owner":"a\ud800","state":{"hardware_mute":true}}`, "$.owner: want printable characters only", true},
	{`{"owner":1,"state":{"hardware_mute":true}}`, "$.owner: want text, found number", false},
	{`{"owner":null,"state":{"hardware_mute":true}}`, "$.owner: want 1 to 64 characters, not 0", false},
	{`{"owner":"x","ttl_ms":1,"serial":"","state":{"hardware_mute":true}}`, "", false},
	{`{"owner":"x","serial":["A1"],"state":{"hardware_mute":true}}`, "$.serial: want text, found array", false},
	{`{"owner":"x","ttl_ms":-1,"state":{"hardware_mute":true}}`, "$.ttl_ms: want a whole number from 0 to 86400000, not -1", false},
	{`{"owner":"x","ttl_ms":86400001,"state":{"hardware_mute":true}}`, "$.ttl_ms: want a whole number from 0 to 86400000, not 86400001", false},
	{`{"owner":"x","ttl_ms":1.5,"state":{"hardware_mute":true}}`, "$.ttl_ms: want a whole number", false},
	{`{"owner":"x","ttl_ms":"1","state":{"hardware_mute":true}}`, "$.ttl_ms: want a whole number, found string", false},
	{`{"owner":"x","seq":-1,"state":{"hardware_mute":true}}`, "$.seq: want a whole number", false},
	{`{"owner":"x","seq":18446744073709551616,"state":{"hardware_mute":true}}`, "$.seq: want a whole number", false},
	{`{"owner":"x","seq":true,"state":{"hardware_mute":true}}`, "$.seq: want a whole number, found bool", false},
	{`{"owner":"x","state":{}}`, "$.state: want at least one flag: hardware_mute, ", false},
	{`{"owner":"x","state":[]}`, "$.state: want an object, found array", false},
	{`{"owner":"x","state":{"hardware_mut":true}}`, `$.state: there is no flag "hardware_mut"; did you mean "hardware_mute"?`, false},
	{`{"owner":"x","state":{"Hardware_Mute":true}}`, `did you mean "hardware_mute"?`, false},
	{`{"owner":"x","state":{"hardware_mute":true,"mute":true}}`, `there is no flag "mute"`, false},
	{`{"owner":"x","state":{"hardware_mute":1}}`, "$.state.hardware_mute: want true, false or null", false},
	{`{"owner":"x","state":{"hardware_mute":"true"}}`, "$.state.hardware_mute: want true, false or null", false},
	{`{"owner":"x","state":{"\ud800":true}}`, "there is no flag", false},
}

func TestPushRequests(t *testing.T) {
	s := serve(t, nil)
	schema := schemaOf(t, "/components/schemas/PushRequest", false)
	for _, c := range pushCases {
		answer, body := s.ask("PUT", "/v1/states/acme-700", c.body, "Content-Type", "application/json", "Connection", "close")
		if c.want == "" {
			require.Equal(t, 200, answer.StatusCode, "%s: %s", c.body, body)
			require.JSONEq(t, `{"generation":8,"units":1,"clients":2}`, body)
		} else {
			require.Equal(t, 400, answer.StatusCode, c.body)
			require.Contains(t, problemIn(t, body).Message, c.want, c.body)
			require.Less(t, len(body), 300)
		}
		if json.Valid([]byte(c.body)) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.body))
			require.NoError(t, err)
			require.Equal(t, c.schema, schema.Validate(v) == nil, c.body)
		}
	}
}

func TestPushArrives(t *testing.T) {
	s := serve(t, nil)
	yes := true
	answer, _ := s.ask("PUT", "/v1/states/acme%2D700%20%C3%B6", `{"owner":"suite","seq":3,"ttl_ms":60000,"serial":"A1","state":{"hardware_mute":true,"echo_cancellation":null}}`)
	require.Equal(t, 200, answer.StatusCode)
	require.Equal(t, []string{"acme-700 ö"}, s.backend.products)
	require.Equal(t, []PushRequest{{
		Owner: "suite", Seq: 3, TTLms: 60000, Serial: "A1", State: map[devices.Field]*bool{devices.HardwareMute: &yes, devices.EchoCancellation: nil},
	}}, s.backend.pushed())
	s.stop()
	require.Empty(t, s.backend.releases(), "a lease does not end with its connection")
}

func FuzzParsePush(f *testing.F) {
	for _, c := range pushCases {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := parsePush(body)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, p.Owner)
		require.NotEmpty(t, p.State)
		require.True(t, p.TTLms >= 0 && p.TTLms <= MaxLease.Milliseconds())
		again, err := json.Marshal(p)
		require.NoError(t, err)
		same, err := parsePush(again)
		require.NoError(t, err)
		require.Equal(t, p, same)
	})
}

func TestKindsOfProblems(t *testing.T) {
	for _, k := range kinds {
		require.ErrorIs(t, &Problem{Code: k.code}, k.kind)
	}
	require.NoError(t, (&Problem{Code: CodeBusy}).Unwrap())
}
