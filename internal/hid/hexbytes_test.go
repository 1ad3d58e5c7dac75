package hid_test

import (
	"testing"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

func TestBytesText(t *testing.T) {
	for text, want := range map[string]hid.Bytes{"c9 64": {0xc9, 0x64}, "C964": {0xc9, 0x64}, " 00  0102 ": {0, 1, 2}, "": nil} {
		var b hid.Bytes
		require.NoError(t, b.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, b, text)
	}
	for _, text := range []string{"c", "c9 6", "c 9", "0 12 3", "xy", "c9-64", "0xc9", "é1"} {
		var b hid.Bytes
		require.EqualError(t, b.UnmarshalText([]byte(text)), `want bytes as pairs of hex digits such as "01 ff"`, text)
		require.Nil(t, b)
	}
	out, err := hid.Bytes{0xc9, 0x64}.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "c964", string(out))
}
