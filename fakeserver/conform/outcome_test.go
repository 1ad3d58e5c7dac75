package conform

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	for text, want := range map[string]string{
		`{"cmd":"C","data":null,"evt":null,"nonce":"n"}`:                         success,
		`{"cmd":"C","data":null,"evt":null,"nonce":"m"}`:                         "answer, nonce not echoed",
		`{"cmd":"C","data":null,"evt":null}`:                                     "answer, nonce not echoed",
		`{"cmd":"D","data":null,"evt":null,"nonce":"n"}`:                         "answer, cmd not echoed",
		`{"cmd":"C","data":{},"evt":null,"nonce":"n"}`:                           "answer, data not null",
		`{"cmd":"C","evt":null,"nonce":"n"}`:                                     "answer, data not null",
		`{"cmd":"C","data":null,"nonce":"n"}`:                                    "answer, evt not null",
		`{"cmd":"C","data":{"code":4000},"evt":"ERROR","nonce":"n"}`:             "ERROR 4000",
		`{"cmd":"C","data":{"code":4000},"evt":"ERROR","nonce":null}`:            "ERROR 4000, wrong nonce",
		`{"cmd":"D","data":{"code":4000},"evt":"ERROR","nonce":"n"}`:             "ERROR 4000, wrong cmd",
		`{"cmd":"C","data":{"code":"4000"},"evt":"ERROR","nonce":"n"}`:           "ERROR without a code",
		`{"cmd":"C","data":null,"evt":"ERROR","nonce":"n"}`:                      "ERROR without a code",
		`{"cmd":"C","data":{"code":1e99},"evt":"ERROR","nonce":"n"}`:             "ERROR without a code",
		`{"cmd":7,"data":[],"evt":{},"nonce":7}`:                                 "answer, nonce not echoed",
		`{"cmd":"C","data":null,"evt":null,"nonce":"n","nonce":"last one wins"}`: "answer, nonce not echoed",
	} {
		a, ok := readAnswer([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, a.judge(`"C"`, `"n"`).got, text)
	}
	for _, text := range []string{"", "null", "[]", `"x"`, "{", strings.Repeat(`{"a":`, 1e5), strings.Repeat(`[`, 1e5)} {
		_, ok := readAnswer([]byte(text))
		require.False(t, ok, text[:min(9, len(text))])
	}
}

func TestSanitize(t *testing.T) {
	require.Equal(t, "plain text", sanitize("plain text"))
	require.Equal(t, `"\x1b[2Jx\n"`, sanitize("\x1b[2Jx\n"), "nothing may act on a terminal")
	require.Equal(t, `"a\x7cb\x3cc\x60"`, sanitize("a|b<c`"), "nor on a Markdown table")
	require.LessOrEqual(t, len(sanitize(strings.Repeat("é", 1000))), 6*shown)
	for _, r := range sanitize("\u202e\xff") {
		require.Less(t, r, rune(0x7f))
	}
}

func TestFailureOfAnUnknownKind(t *testing.T) {
	require.Equal(t, garbage, failure(errors.New("odd"), true).got)
}

func TestVerdict(t *testing.T) {
	e := expects(Read, "close 4000", "x")
	require.Equal(t, Same, e.judge(outcome{got: "x"}))
	require.Equal(t, Differs, e.judge(outcome{got: "y"}))
	require.Equal(t, NotTried, e.judge(skipped("why")))
	require.Equal(t, NotTried, Column{}.judge(skipped("why")))
	require.Equal(t, NotSaid, Column{}.judge(outcome{got: "x"}))
}
