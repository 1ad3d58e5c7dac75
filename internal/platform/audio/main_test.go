package audio

import (
	"fmt"
	"os"
	"testing"
)

// TestMain gives the tests a home of their own: the sound server's library looks for its settings in it, and leaves a file there.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		_ = os.Setenv(name, home)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}
