package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/paths"
	"sidetone/internal/wine"
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
		logFailure([]string{"--address=" + address}, "of the test")
	case "unknown":
		logFailure(nil, "of the test")
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
			var data, out string
			var err error
			// One end of some hundreds hangs in Wine 10, which has killed a thread that holds the lock of the process's memory.
			for range 3 {
				data = t.TempDir()
				if out, err = runTray(t, address, "LOCALAPPDATA="+data, doesEnv+"="+does); !wine.Is() || !errors.Is(err, context.DeadlineExceeded) {
					break
				}
			}
			require.Equal(t, does == "crash", err != nil, "%s", out)
			text, err := os.ReadFile(filepath.Join(data, want))
			require.NoError(t, err)
			require.Contains(t, string(text), "of the test")
			require.LessOrEqual(t, len(text), logFileMB<<20)
		})
	}
}

func runTray(t *testing.T, address string, env ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tray := exec.CommandContext(ctx, os.Args[0], address)
	tray.Env = append(os.Environ(), env...)
	said, err := tray.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(said), err
}
