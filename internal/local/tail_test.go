package local

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTail(t *testing.T) {
	var said Tail
	require.Empty(t, said.LastLine())
	line := append(bytes.Repeat([]byte("x"), 1<<10), '\n')
	for range 1 << 10 {
		n, err := said.Write(line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	require.Less(t, cap(said.text), 64<<10)
	_, err := io.WriteString(&said, "it is broken\n\n")
	require.NoError(t, err)
	require.Equal(t, "it is broken", said.LastLine())
}
