package conform

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// every is a target with all checks.
var every = Target{URL: "http://127.0.0.1:6463", IPC: "/run/discord-ipc-0", ClientID: ExampleClientID, Origin: "https://acme.example"}

func TestTableOfChecks(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range checks(every) {
		require.False(t, ids[c.ID], "%s is there twice", c.ID)
		require.True(t, c.needs == "" || ids[c.needs], "%s needs %s, which comes later", c.ID, c.needs)
		ids[c.ID] = true
		require.LessOrEqual(t, len(c.Sentence), wideSentence-2, c.ID)
		require.Equal(t, len(c.Spec.Expects) > 0, c.Spec.Basis == Specified, c.ID)
		require.Equal(t, len(c.Client.Expects) > 0, c.Client.Basis != "", c.ID)
		require.NotEqual(t, Specified, c.Client.Basis, c.ID)
		if c.hangs() {
			require.Equal(t, "http-empty-list", c.needs, "%s: silence says nothing of a server that never answers", c.ID)
			require.True(t, c.all, c.ID)
		}
	}
}

func TestReport(t *testing.T) {
	r := &Report{Target: every, Notes: []string{strings.Repeat("a long note ", 20)}}
	for i, c := range checks(every) {
		switch i % 4 {
		case 0:
			r.add(c.Check, outcome{got: silence, waited: 1234567890, detail: sanitize("\x1b[31m|evil|")})
		case 1:
			r.add(c.Check, outcome{got: "answer is quite something nobody expected here"})
		case 2:
			r.add(c.Check, skipped(needsAll))
		default:
			r.add(c.Check, outcome{got: append(c.Client.Expects, "x")[0]})
		}
	}
	for _, line := range strings.Split(r.Text(), "\n") {
		require.LessOrEqual(t, len(line), 120, line)
	}
	require.Contains(t, r.Text(), "no reply in 1.23s")
	require.Contains(t, r.Text(), "not tried (needs --all)")
	require.NotContains(t, r.Text()+r.Markdown()+string(r.JSON()), "\x1b")

	for _, line := range strings.Split(r.Markdown(), "\n") {
		if strings.HasPrefix(line, "|") {
			require.Equal(t, 6, strings.Count(line, "|"), line)
		}
	}
	require.Contains(t, r.Markdown(), "[infer]")

	var parsed struct {
		Checks []struct {
			ID     string
			Spec   Column `json:"specification"`
			Client Column `json:"real_client"`
		}
		Summary map[string]Count
	}
	require.NoError(t, json.Unmarshal(r.JSON(), &parsed))
	require.Len(t, parsed.Checks, len(checks(every)))
	require.Equal(t, r.Client(), parsed.Summary["real_client"])
	require.Equal(t, Basis("code"), parsed.Checks[0].Client.Basis)
	require.Positive(t, r.Client().Same)
	require.Less(t, r.Client().Same, r.Client().Said)
}

func TestSummaryCountsInEnglish(t *testing.T) {
	r := &Report{}
	require.Contains(t, r.Summary(), "(0 checks not tried)")
	r.add(checks(every)[0].Check, skipped(needsAll))
	require.Contains(t, r.Summary(), "(1 check not tried)")
	r.add(checks(every)[1].Check, skipped(needsAll))
	require.Contains(t, r.Summary(), "(2 checks not tried)")
}

func TestAGroupThatWasNotTriedIsOneLine(t *testing.T) {
	r := &Report{}
	for _, c := range payloadChecks() {
		r.add(c.Check, skipped("no transport takes commands"))
	}
	require.Equal(t, 1, strings.Count(r.Text(), "no transport takes commands"))
}
