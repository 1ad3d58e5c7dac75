package hid_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
)

// Recordings of older versions have neither an interval nor a channel.
func TestAnEventOfAnOlderRecordingIsWrittenAsItWas(t *testing.T) {
	const old = `{"happening":"report","node":"hidraw0","data":"0101","at":"2026-01-01T12:00:00Z"}`
	var e hid.Event
	require.NoError(t, json.Unmarshal([]byte(old), &e))
	require.Zero(t, e.Since)
	b, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, old, string(b))
}
