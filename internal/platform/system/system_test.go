package system

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	require.Regexp(t, map[string]string{"linux": `(?i)linux \d+\.`, "darwin": `^macOS \d+`, "windows": `^Windows \d+\.\d+\.\d+$`}[runtime.GOOS], Version())
}
