package scenario

import (
	"context"
	goflag "flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const patience = 30 * time.Second

// TestMain lets the test's own program play the programs that scenarios run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "report":
			exit(report(os.Args[2], os.Args[3:]))
		case "agent":
			exit(agent(os.Args[2]))
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
			fmt.Println("I stay")
			touch("ready")
			time.Sleep(time.Hour) // not for ever: without cgo the runtime would call that a deadlock
		case "fail":
			fmt.Println("it is broken")
			os.Exit(3)
		}
	}
	goflag.Parse()
	_ = goflag.Set("test.parallel", "16") // tests wait for the ends of expectations most of the time
	// Under the race detector each program would sleep for a second at its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m, ipctest.Kept)
}

func exit(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func touch(name string) {
	_ = os.WriteFile(filepath.Join(os.Getenv("SCENARIO_DIR"), name), nil, 0o600)
}

// report sends lists to a client, one after another. A list is written as device,device;
// a device as mic, out or cam with :FLAG for its hardware mute; "empty" is an empty list,
// "bad" one that is refused, "odd" one that is warned of.
func report(client string, lists []string) error {
	for _, l := range lists {
		url := fmt.Sprintf("http://127.0.0.1:%s/rpc?v=1&client_id=123456789012345678", os.Getenv("SCENARIO_PORT_"+client))
		resp, err := http.Post(url, "application/json", strings.NewReader(message(l)))
		if err != nil {
			return err
		}
		resp.Body.Close()
	}
	return nil
}

func message(devices string) string {
	var objects []string
	for d := range strings.SplitSeq(devices, ",") {
		id, mute, muted := strings.Cut(d, ":")
		kind := map[string]string{"mic": "audioinput", "out": "audiooutput", "cam": "videoinput", "odd": "audioinput", "bad": "microphone"}[id]
		if kind == "" {
			continue
		}
		more := ""
		if muted {
			more += `,"hardware_mute":` + mute
		}
		if id == "odd" {
			more += `,"oddity":1`
		}
		objects = append(objects, fmt.Sprintf(
			`{"type":%q,"id":%q,"vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":[]%s}`, kind, id, more))
	}
	return fmt.Sprintf(`{"nonce":"1","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[%s]}}`, strings.Join(objects, ","))
}

// agent reports a muted microphone, and an empty list at its orderly end.
func agent(client string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := report(client, []string{"mic:true"}); err != nil {
		return err
	}
	<-ctx.Done()
	return report(client, []string{"empty"})
}

func mustLoad(t *testing.T, text string) *Scenario {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	text = strings.ReplaceAll(text, "EXE", "'"+strings.ReplaceAll(exe, "'", "''")+"'")
	sc, problems := Load(filepath.Join(t.TempDir(), "test.yaml"), []byte(text))
	require.Empty(t, problems)
	return sc
}

// lines collects progress and calls back with each line.
type lines struct {
	all  strings.Builder
	each func(string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.all.Write(p)
	if l.each != nil {
		l.each(string(p))
	}
	return len(p), nil
}

func play(t *testing.T, opts Options, text string) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	r, err := mustLoad(t, text).Run(ctx, opts)
	require.NoError(t, err)
	return r
}

func statuses(r *Report) string {
	var out []string
	for _, result := range r.Results {
		out = append(out, string(result.Status))
	}
	return strings.Join(out, " ")
}
