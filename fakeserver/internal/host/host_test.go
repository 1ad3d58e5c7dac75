package host

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystem(t *testing.T) {
	require.Contains(t, System(), runtime.GOOS+"/"+runtime.GOARCH)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH+", Debian GNU/Linux 12 (bookworm)", system("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"))
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, system(""))
}
