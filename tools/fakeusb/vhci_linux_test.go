package fakeusb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortFree(t *testing.T) {
	const status = `hub port sta spd dev      sockfd local_busid
hs  0000 006 002 00010002 000003 1-1
hs  0001 004 000 00000000 000000 0-0
ss  0008 004 000 00000000 000000 0-0
`
	require.False(t, portFree(status, 0))
	require.True(t, portFree(status, 1))
	require.False(t, portFree(status, 2), "not in the table")
	require.True(t, portFree(status, 8))
}
