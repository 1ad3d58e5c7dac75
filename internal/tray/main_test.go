package tray

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// addressEnv makes this test binary a tray, of the agent at that address.
const addressEnv = "TRAY_TEST_ADDRESS"

// langEnv and shadeEnv are its language and its icon's shade, if not the usual ones.
const (
	langEnv  = "TRAY_TEST_LANG"
	shadeEnv = "TRAY_TEST_SHADE"
)

// startEnv is the program that such a tray starts as its agent.
const startEnv = "TRAY_TEST_START"

// logEnv has such a program be an agent with that log file, and not fail.
const logEnv = "TRAY_TEST_LOG"

func TestMain(m *testing.M) {
	if address := os.Getenv(addressEnv); address != "" {
		os.Exit(runTray(address))
	}
	if os.Getenv(startEnv) != "" { // what such a tray has started in place of its agent
		if log := os.Getenv(logEnv); log != "" && len(os.Args) == 3 && os.Args[1] == "run" {
			os.Exit(runAgent(os.Args[2], log))
		}
		fmt.Fprintln(os.Stderr, "no catalogue")
		os.Exit(1)
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // tests wait for other processes most of the time
	goleak.VerifyTestMain(ending{m}, ipctest.Kept)
}

// afterTests ends what tests share.
var afterTests = func() {}

// ending runs the tests, and then that.
type ending struct{ *testing.M }

func (m ending) Run() int {
	code := m.M.Run()
	afterTests()
	return code
}

func runTray(address string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := Run(ctx, Options{
		Address: address,
		Program: "Sidetone", Version: "1.4.0", Vendor: "Acme Audio", Say: texts.For(cmp.Or(os.Getenv(langEnv), texts.English)),
		Shade: icon.Shade(os.Getenv(shadeEnv)), Getenv: os.Getenv,
		Agent: os.Getenv(startEnv), Flags: []string{"--vendor=acme"},
		Autostart:   desktop.Entry{ID: "sidetone-tray", Name: "Sidetone", Command: []string{"sidetone", "tray"}},
		Diagnostics: func(context.Context) ([]byte, error) { return []byte("all is well\n"), nil },
		Log:         log,
	})
	if err != nil {
		log.Error(err.Error())
		return 1
	}
	return 0
}
