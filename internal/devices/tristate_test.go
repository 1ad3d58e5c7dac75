package devices

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTri(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		t     Tri
		known bool
		not   Tri
		ptr   *bool
		text  string
		json  string
	}{
		{Unknown, false, Unknown, nil, "unknown", "null"},
		{False, true, True, &no, "false", "false"},
		{True, true, False, &yes, "true", "true"},
		{Tri(9), false, Unknown, nil, "unknown", "null"},
	} {
		require.Equal(t, c.known, c.t.Known())
		require.Equal(t, c.not, c.t.Not())
		require.Equal(t, c.ptr, c.t.Ptr())
		require.Equal(t, c.text, c.t.String())
		b, err := json.Marshal(c.t)
		require.NoError(t, err)
		require.Equal(t, c.json, string(b))
	}
	var zero Tri
	require.Equal(t, Unknown, zero, "what was never said is unknown")
	require.Equal(t, True, Of(true))
	require.Equal(t, False, Of(false))
}

func TestTriAnd(t *testing.T) {
	for _, c := range []struct{ a, b, want Tri }{
		{True, True, True},
		{True, False, False},
		{False, False, False},
		{Unknown, False, False},
		{Unknown, True, Unknown},
		{Unknown, Unknown, Unknown},
	} {
		require.Equal(t, c.want, c.a.And(c.b))
		require.Equal(t, c.want, c.b.And(c.a))
	}
}

func TestTriFromJSON(t *testing.T) {
	for text, want := range map[string]Tri{"true": True, " false ": False, "null": Unknown} {
		got := True
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`"true"`, `1`, `0`, `{}`, `[]`, `"unknown"`} {
		var got Tri
		require.ErrorContains(t, json.Unmarshal([]byte(text), &got), "want true, false or null")
	}
	var e Endpoint
	require.NoError(t, json.Unmarshal([]byte(`{"id":"x"}`), &e))
	require.Equal(t, Unknown, e.Mute)
}
