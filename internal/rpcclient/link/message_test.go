package link

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const ours = "THE-NONCE"

func TestPostResult(t *testing.T) {
	t.Parallel()
	accepted := `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"THE-NONCE"}`
	cases := map[string]struct {
		status int
		body   string
		want   error // nil = delivered
	}{
		"accepted":                        {200, accepted, nil},
		"accepted, spaced and reordered":  {200, " {\n\"nonce\":\"THE-NONCE\" , \"evt\":null, \"cmd\":\"SET_CERTIFIED_DEVICES\"} ", nil},
		"accepted, more than was agreed":  {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"x":[1]},"evt":null,"nonce":"THE-NONCE","new":1}`, nil},
		"refused in a 200":                {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"no"},"evt":"ERROR","nonce":"THE-NONCE"}`, &Refusal{Phase: PhaseCommand, Code: 4000}},
		"failed inside the client":        {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":1000,"message":"no"},"evt":"ERROR","nonce":"THE-NONCE"}`, &Refusal{Phase: PhaseCommand, Code: 1000}},
		"error without a code":            {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"message":"no"},"evt":"ERROR","nonce":"THE-NONCE"}`, &Refusal{Phase: PhaseCommand}},
		"error without data":              {200, `{"cmd":"SET_CERTIFIED_DEVICES","evt":"ERROR","nonce":"THE-NONCE"}`, &Refusal{Phase: PhaseCommand}},
		"error with odd data":             {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":"x","evt":"ERROR","nonce":"THE-NONCE"}`, &Refusal{Phase: PhaseCommand}},
		"another nonce":                   {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"OTHER"}`, ErrNotRPC},
		"refused with another nonce":      {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000},"evt":"ERROR","nonce":"OTHER"}`, ErrNotRPC},
		"no nonce":                        {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null}`, ErrNotRPC},
		"null nonce":                      {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":null}`, ErrNotRPC},
		"nonce of another type":           {200, `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":1}`, ErrNotRPC},
		"another command":                 {200, `{"cmd":"DISPATCH","data":null,"evt":null,"nonce":"THE-NONCE"}`, ErrNotRPC},
		"our command echoed":              {200, `{"nonce":"THE-NONCE","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`, ErrNotRPC},
		"nothing":                         {200, ``, ErrNotRPC},
		"null":                            {200, `null`, ErrNotRPC},
		"a list":                          {200, `[` + accepted + `]`, ErrNotRPC},
		"no JSON":                         {200, `<html>`, ErrNotRPC},
		"two values":                      {200, accepted + accepted, ErrNotRPC},
		"no content":                      {204, accepted, ErrNotRPC},
		"created":                         {201, accepted, ErrNotRPC},
		"server error":                    {500, accepted, ErrNotRPC},
		"upgrade required":                {426, ``, ErrNotRPC},
		"400 with an application code":    {400, `{"code":4000,"message":"Invalid Client ID"}`, &Refusal{Phase: PhaseConnect, Code: 4000}},
		"400 with an origin code":         {400, `{"code":4001,"message":"Invalid Origin"}`, &Refusal{Phase: PhaseConnect, Code: 4001}},
		"400 with a data code":            {400, `{"code":1003,"message":"Unexpected token"}`, &Refusal{Phase: PhaseConnect, Code: 1003}},
		"400 with no RPC code":            {400, `{"code":0,"message":"Bad Request"}`, ErrNotRPC},
		"400 without a code":              {400, `{"message":"Bad Request"}`, ErrNotRPC},
		"400 with a code that is a text":  {400, `{"code":"4000"}`, ErrNotRPC},
		"400 that is a page":              {400, `<html>`, ErrNotRPC},
		"404 with the fingerprint's body": {404, fingerprintBody, ErrNotRPC},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := postResult(httpReply{c.status, []byte(c.body)}, ours)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestResultKeepsTheServersWords(t *testing.T) {
	t.Parallel()
	m, err := parseMessage([]byte(`{"evt":"ERROR","nonce":"x","data":{"code":4006,"message":"Not authenticated"}}`))
	require.NoError(t, err)
	require.Equal(t, &Refusal{Phase: PhaseCommand, Code: 4006, Message: "Not authenticated"}, m.result())
}

func TestReady(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1}}`: true,
		`{"cmd":"DISPATCH","evt":"READY"}`:                             true,
		`{"cmd":"DISPATCH","evt":"VOICE"}`:                             false,
		`{"cmd":"READY","evt":"READY"}`:                                false,
		`{"evt":"READY"}`:                                              false,
		`null`:                                                         false,
		`{}`:                                                           false,
	} {
		m, err := parseMessage([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, m.ready(), text)
	}
}
