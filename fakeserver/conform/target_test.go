package conform

import (
	"fmt"
	"testing"
	"time"

	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/require"
)

func TestOnlyServersOfThisMachineAreAsked(t *testing.T) {
	for _, url := range []string{
		"http://192.0.2.1:6463", "http://0.0.0.0:6463", "http://localhost:6463", "http://127.0.0.1", "http://127.0.0.1:0",
		"https://127.0.0.1:6463", "127.0.0.1:6463", "http://user@127.0.0.1:6463", "http://127.0.0.1:6463/rpc", "http://127.0.0.1:6463?x=1",
		"http://127.0.0.1:66000", "http://[::ffff:192.0.2.1]:6463", "\x7f", "http://",
	} {
		_, err := Run(deadline(t), Target{URL: url}, Options{})
		wrong := new(TargetError)
		require.ErrorAs(t, err, &wrong, url)
		require.Equal(t, "url", wrong.Field)
	}
	for _, url := range []string{"http://127.0.0.1:6463", "http://127.0.0.1:6463/", "http://[::1]:6463", "http://127.1.2.3:1"} {
		_, err := addressOf(url)
		require.NoError(t, err, url)
	}
}

func TestTargetsAndOptionsThatMakeNoSense(t *testing.T) {
	const good = "http://127.0.0.1:1"
	for field, run := range map[string]struct {
		target Target
		opts   Options
	}{
		"target":    {Target{}, Options{}},
		"client id": {Target{URL: good, ClientID: "1&v=2"}, Options{}},
		"origin":    {Target{URL: good, Origin: "a\r\nb"}, Options{}},
		"ipc":       {Target{IPC: "nowhere"}, Options{}},
		"refill":    {Target{URL: good}, Options{Refill: -1}},
		"patience":  {Target{URL: good}, Options{Patience: -time.Second}},
	} {
		_, err := Run(deadline(t), run.target, run.opts)
		wrong := new(TargetError)
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
}

func TestNoServer(t *testing.T) {
	for _, target := range []Target{{URL: fmt.Sprintf("http://127.0.0.1:%d", ipctest.Port(t))}, {IPC: ipctest.Path(t)}} {
		report, err := Run(deadline(t), target, Options{})
		gone := new(UnreachableError)
		require.ErrorAs(t, err, &gone)
		require.ErrorContains(t, err, "is the client running")
		require.Nil(t, report)
	}
}
