package icon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryIconIsThere(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range []State{Reporting, Muted, NoClient, Trouble, Down} {
		data := File(s, Light)
		require.NotEmpty(t, data)
		require.NotEmpty(t, File(s, Dark))
		require.False(t, seen[string(data)], "%s: it is the same as another one", s)
		seen[string(data)] = true
	}
}
