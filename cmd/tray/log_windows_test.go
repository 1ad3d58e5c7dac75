package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/paths"
)

// doesEnv makes this test binary a tray to which something happens.
const doesEnv = "TRAY_TEST_DOES"

func TestMain(m *testing.M) {
	switch address := os.Args[len(os.Args)-1]; os.Getenv(doesEnv) {
	case "":
		os.Exit(m.Run())
	case agentOfHost:
		os.Exit(agentUntilAsked(os.Args[len(os.Args)-1]))
	case "crash":
		openLog(paths.VendorOf(address))
		panic("of the test")
	case "fail":
		keepFailure([]string{"--address=" + address}, "of the test")
	case "unknown":
		keepFailure(nil, "of the test")
	case "talk":
		log := openLog(paths.VendorOf(address))
		for range 3 << 10 {
			log.Warn(strings.Repeat("of the test ", 100))
		}
	}
}

// TestLogsOfATray: what nobody sees is in files of a bounded size, beside the agent's.
func TestLogsOfATray(t *testing.T) {
	address, err := paths.ControlAddress(os.Getenv, "acme")
	require.NoError(t, err)
	for does, want := range map[string]string{
		"crash":   `Sidetone\acme\tray-crash.log`,
		"fail":    `Sidetone\acme\tray.log`,
		"unknown": `Sidetone\tray.log`,
		"talk":    `Sidetone\acme\tray.log`,
	} {
		t.Run(does, func(t *testing.T) {
			data := t.TempDir()
			tray := exec.CommandContext(t.Context(), os.Args[0], address)
			tray.Env = append(os.Environ(), doesEnv+"="+does, "LOCALAPPDATA="+data)
			out, err := tray.CombinedOutput()
			require.Equal(t, does == "crash", err != nil, "%s", out)
			text, err := os.ReadFile(filepath.Join(data, want))
			require.NoError(t, err)
			require.Contains(t, string(text), "of the test")
			require.LessOrEqual(t, len(text), logFileMB<<20)
		})
	}
}
