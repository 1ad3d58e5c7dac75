package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMissingChromiumIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find()
	require.ErrorContains(t, err, "`make deps` installs it")
}
