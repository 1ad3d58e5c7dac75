package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

// fakeProgram builds the fake client's program, once for all tests.
var fakeProgram = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(built, "fakeserver")
	return path, testlab.Build(path, "../../fakeserver/cmd/fakeserver")
})

// fake is a fake client as a process.
type fake struct {
	t      *testing.T
	folder string // XDG_RUNTIME_DIR
	port   int
	args   []string
	user   *syscall.SysProcAttr

	cmd           *exec.Cmd
	lists, remark *lines // stdout and stderr of the present life
	ended         chan struct{}
	socket        string // "" = none
}

// fake starts a fake client beside the agent, and has the agent look at its port.
func (a *agentRun) fake(profile string, args ...string) *fake {
	a.t.Helper()
	f := a.newFake(profile, args...)
	f.start()
	return f
}

// newFake prepares a fake client but does not start it.
func (a *agentRun) newFake(profile string, args ...string) *fake {
	a.t.Helper()
	f := &fake{t: a.t, folder: a.folder, port: ipctest.Port(a.t)}
	f.args = append([]string{"--json", "--profile", profile}, args...)
	a.ports = append(a.ports, f.port)
	return f
}

// desktops starts as many desktop clients that count no tokens.
func (a *agentRun) desktops(n int) []*fake {
	a.t.Helper()
	all := make([]*fake, n)
	for i := range all {
		all[i] = a.fake("desktop", "--bucket", "-1")
	}
	return all
}

// start begins a life of the client, and returns when it listens.
func (f *fake) start() {
	f.t.Helper()
	path, err := fakeProgram()
	require.NoError(f.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	f.t.Cleanup(cancel)
	f.cmd = exec.CommandContext(ctx, path, append(f.args, "--port", fmt.Sprint(f.port))...)
	f.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+f.folder)
	f.cmd.SysProcAttr = f.user
	f.lists, f.remark = newLines(), newLines()
	f.cmd.Stdout, f.cmd.Stderr = f.lists, f.remark
	f.ended = startForTest(f.t, f.cmd, f.remark)
	first := f.next(f.remark, 0)
	_, where, ok := strings.Cut(first, "listening on ")
	require.True(f.t, ok, first)
	f.socket = ""
	if i := strings.Index(where, f.folder); i >= 0 {
		f.socket = where[i:]
	}
}

// next waits for the line with that number, counted from 0.
func (f *fake) next(l *lines, number int) string {
	f.t.Helper()
	limit := time.After(patience)
	for {
		all, more := l.snapshot()
		if number < len(all) {
			return all[number]
		}
		select {
		case <-more:
		case <-f.ended:
			require.FailNow(f.t, "the fake client has ended")
		case <-limit:
			require.FailNow(f.t, "the fake client says no more")
		}
	}
}

// kill ends the client without a chance to tidy up.
func (f *fake) kill() {
	f.t.Helper()
	require.NoError(f.t, f.cmd.Process.Kill())
	<-f.ended
}

// quit ends the client in order.
func (f *fake) quit() {
	f.t.Helper()
	require.NoError(f.t, f.cmd.Process.Signal(syscall.SIGTERM))
	<-f.ended
}

// got is one payload, as the fake client prints it.
type got struct {
	Seq       int
	Conn      int
	Transport fakeserver.Transport
	ClientID  string `json:"client_id"`
	Rejected  string
	Warnings  []string
	Payload   struct {
		Args struct{ Devices []fakeserver.Device }
	}
}

// payloads are those that the application of the agent has sent in this life of the client.
func (f *fake) payloads() []got {
	f.t.Helper()
	var list []got
	all, _ := f.lists.snapshot()
	for _, line := range all {
		if g := f.parse(line); g.ClientID == clientID {
			list = append(list, g)
		}
	}
	return list
}

func (f *fake) parse(line string) got {
	f.t.Helper()
	var g got
	require.NoError(f.t, json.Unmarshal([]byte(line), &g), line)
	return g
}

// last is the last list that was taken, nil before the first.
func (f *fake) last() []fakeserver.Device {
	f.t.Helper()
	for _, g := range slices.Backward(f.payloads()) {
		if g.Rejected == "" {
			return g.Payload.Args.Devices
		}
	}
	return nil
}

// has waits until what the client got is as wanted.
func (f *fake) has(what string, wanted func([]got) bool) {
	f.t.Helper()
	limit := time.After(patience)
	for {
		_, more := f.lists.snapshot()
		if wanted(f.payloads()) {
			return
		}
		select {
		case <-more:
		case <-limit:
			require.FailNow(f.t, "never at the client", "%s; its list is %s", what, text(f.last()))
		}
	}
}

// hasList waits until the client's list is exactly this one.
func (f *fake) hasList(devices ...fakeserver.Device) {
	f.t.Helper()
	if devices == nil {
		devices = []fakeserver.Device{}
	}
	want := text(devices)
	f.has(want, func([]got) bool { return text(f.last()) == want })
}

// hasDevices is hasList in any order: what is plugged in fast may be seen at one look, and what
// came last is not known then.
func (f *fake) hasDevices(devices ...fakeserver.Device) {
	f.t.Helper()
	sorted := func(list []fakeserver.Device) string {
		return text(slices.SortedFunc(slices.Values(list), func(a, b fakeserver.Device) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Type, b.Type)) }))
	}
	want := sorted(devices)
	f.has(want, func([]got) bool { return sorted(f.last()) == want })
}

// connections is how many connections the client has accepted in this life, with the one that
// this asks over, for another application.
func (f *fake) connections() int {
	f.t.Helper()
	const other = "999999999999999999"
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/rpc?v=1&client_id=%s", f.port, other)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"nonce":"1","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`))
	require.NoError(f.t, err)
	req.Header.Set("Content-Type", "application/json")
	before, _ := f.lists.snapshot()
	seen := len(before)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(f.t, err)
	require.NoError(f.t, resp.Body.Close())
	for ; ; seen++ {
		if g := f.parse(f.next(f.lists, seen)); g.ClientID == other {
			return g.Conn
		}
	}
}

// spotless requires that the client had no cause for a remark, that nothing was sent twice
// over one connection, and that all came this way.
func (f *fake) spotless(tr fakeserver.Transport) {
	f.t.Helper()
	said := make(map[int]string) // by connection
	for _, g := range f.payloads() {
		require.Empty(f.t, g.Warnings, g)
		require.Empty(f.t, g.Rejected, g)
		require.Equal(f.t, tr, g.Transport, g)
		list := text(g.Payload.Args.Devices)
		require.NotEqual(f.t, said[g.Conn], list, "payload %d says nothing new", g.Seq)
		said[g.Conn] = list
	}
}

// writeProgram writes a program. No child may be started meanwhile: until it has become another program it would have the file open for
// writing, and what is open so is not executed.
func writeProgram(t *testing.T, path string, text []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, text, 0o755))
}
