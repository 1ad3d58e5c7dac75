package ipc

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/local"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/session"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
)

// answering listens at address until the test ends, and answers every connection with what it sent.
func answering(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := ListenControl(address)
	require.NoError(t, err)
	t.Cleanup(func() {
		lock, err := controlLockFile(address)
		require.NoError(t, err)
		require.NoError(t, os.Remove(lock))
	})
	echo(t, l)
	return l
}

func TestControlPipe(t *testing.T) {
	platformtest.NoLeak(t)
	address := ipctest.Folder(t)
	l := answering(t, address)
	for range 3 {
		c, err := DialControl(platformtest.Deadline(t), address)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = c.Write([]byte("ping"))
		require.NoError(t, err)
		got := make([]byte, 4)
		_, err = io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, "ping", string(got))
		require.NoError(t, c.Close())
	}
	_, err := ListenControl(address)
	running := new(ErrRunning)
	require.ErrorAs(t, err, &running)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "twice does no harm")
	_, err = DialControl(platformtest.Deadline(t), address)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestControlPipeSecurity reads back what keeps others out. Wine keeps nobody out by it.
func TestControlPipeSecurity(t *testing.T) {
	address := ipctest.Folder(t)
	answering(t, address)
	_, want, _ := strings.Cut(controlSecurity(session.User()), "O:"+session.User())
	require.Contains(t, want, "S:(ML;;NW;;;ME)", "low integrity is kept out")
	if wine.Is() { // which has no word for a label
		want = strings.Replace(want, "S:(ML;;NW;", "S:P(;;CC;", 1)
	}
	c, err := DialControl(platformtest.Deadline(t), address)
	require.NoError(t, err)
	got, err := windows.GetSecurityInfo(windows.Handle(c.(interface{ Fd() uintptr }).Fd()), windows.SE_KERNEL_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.LABEL_SECURITY_INFORMATION)
	require.NoError(t, err)
	require.Equal(t, want, got.String())
	require.NoError(t, c.Close())
}

// Whoever has made a pipe of this name first keeps us from it, but does not become the agent.
func TestControlPipeOfAnotherProgram(t *testing.T) {
	address := ipctest.Folder(t)
	squatter, err := ipctest.Listen(address)
	require.NoError(t, err)
	_, err = ListenControl(address)
	require.ErrorContains(t, err, "another program has a pipe of this name; end it")
	require.NoError(t, squatter.Close())
	require.NoError(t, answering(t, address).Close(), "the lock was given back")
	for _, bad := range []string{`C:\agent`, `\\.\pipe\a\b`, `\\.\pipe\a:b`} {
		_, err = ListenControl(bad)
		require.ErrorContains(t, err, `want \\.\pipe\ and a name`)
	}
}

// A pipe of this name that another user has made before is neither taken over nor talked to.
func TestControlPipeOfAnotherUser(t *testing.T) {
	address := ipctest.Folder(t)
	says, pid, stop := start(t, ipctest.StrangersToken(t), "pipe "+address)
	require.Contains(t, says, "listens")
	_, err := ListenControl(address)
	require.ErrorContains(t, err, "another program has a pipe of this name; end it")
	_, err = DialControl(platformtest.Deadline(t), address)
	require.ErrorContains(t, err, fmt.Sprintf("(%d) belongs to another user", pid))
	_, client, err := NewMachine(nil, platformtest.Quiet()).Dial(platformtest.Deadline(t), address)
	require.NoError(t, err)
	require.Equal(t, ipctest.Stranger, client.UID, "as a client it is another user's, too")
	stop()
	answering(t, address)
	says, _, _ = start(t, ipctest.StrangersToken(t), "dial "+address)
	require.Contains(t, says, "belongs to another user", "it takes this agent for no agent of its own")
}

// Of agents that are started at once, one has the pipe.
func TestAgentsThatStartAtOnce(t *testing.T) {
	address := ipctest.Folder(t)
	const agents = 3
	var starting sync.WaitGroup
	says, stops := make([]string, agents), make([]func(), agents)
	for i := range agents {
		starting.Go(func() { says[i], _, stops[i] = start(t, 0, "control "+address) })
	}
	starting.Wait()
	first := -1
	for i, line := range says {
		if strings.HasPrefix(line, "listens") {
			require.Negative(t, first, "two have it: %q", says)
			first = i
			continue
		}
		require.Contains(t, line, "another agent of this user runs already")
	}
	require.GreaterOrEqual(t, first, 0, "nobody has it: %q", says)
	stops[first]()
	require.NoError(t, answering(t, address).Close(), "it is free again")
}

func TestWhoIsNotTheAgent(t *testing.T) {
	const me = "S-1-5-21-1-1"
	for _, c := range []struct {
		who local.Process
		why string
	}{
		{local.Process{UID: me}, ""},
		{local.Process{UID: "S-1-5-21-1-2"}, "belongs to another user"},
		{local.Process{}, "belongs to another user"},
		{local.Process{Denied: true}, "runs as administrator"},
		{local.Process{UID: me, OtherSession: true}, "runs in another session"},
	} {
		if err := checkPipeOwner(c.who, me); c.why != "" {
			require.ErrorContains(t, err, c.why)
		} else {
			require.NoError(t, err)
		}
	}
	require.Error(t, checkPipeOwner(local.Process{}, ""), "nobody knows who this is, either")
}

func TestAgentsOfThisSession(t *testing.T) {
	vendor := strings.ToLower(strings.TrimPrefix(ipctest.Folder(t), paths.Pipes+paths.PipePrefix))
	address, err := paths.ControlAddress(nil, vendor)
	require.NoError(t, err)
	l := answering(t, address)
	found, err := Agents(platformtest.Deadline(t), nil)
	require.NoError(t, err)
	require.Contains(t, found, Agent{vendor, address})
	require.NoError(t, l.Close())
	found, err = Agents(platformtest.Deadline(t), nil)
	require.NoError(t, err)
	require.NotContains(t, found, Agent{vendor, address}, "a lock file alone is no agent")
}

// A redirected folder may have any name, also one that would mean something in a pattern.
func TestAgentsAreFoundInAFolderOfAnyName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Zoë [1]")
	found, err := lockedPipes(folder, "-S-1-5-21-1-1")
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, name := range []string{
		"sidetone-acme-S-1-5-21-1-1.lock", "sidetone-acme-S-1-5-21-1-2.lock",
		"sidetone-acme-S-1-5-21-1-1", "tray-sidetone-acme-S-1-5-21-1-1.lock",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	found, err = lockedPipes(folder, "-S-1-5-21-1-1")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"acme": `\\.\pipe\sidetone-acme-S-1-5-21-1-1`}, found)
}

func TestClientsPipes(t *testing.T) {
	first, second := ipctest.Folder(t), ipctest.Folder(t)
	machine := NewMachine([]string{first, second}, platformtest.Quiet())
	sockets, notes := machine.Sockets()
	require.Empty(t, sockets)
	require.Empty(t, notes)
	var want []local.Socket
	for _, path := range []string{first + `\discord-ipc-0`, first + `\discord-ipc-7`, second + `\discord-ipc-9`} {
		l, err := ipctest.Listen(path)
		require.NoError(t, err)
		defer l.Close()
		want = append(want, local.Socket{Path: path})
	}
	sockets, notes = machine.Sockets()
	require.Equal(t, want, sockets)
	require.Empty(t, notes)

	l, err := ipctest.Listen(second + `\discord-ipc-0`)
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	conn, peer, err := machine.Dial(platformtest.Deadline(t), second+`\discord-ipc-0`)
	require.NoError(t, err)
	defer conn.Close()
	defer (<-accepted).Close()
	require.Equal(t, os.Getpid(), peer.PID)
	require.Equal(t, session.User(), peer.UID)
	require.Contains(t, peer.Name, ".exe")
	_, _, err = machine.Dial(platformtest.Deadline(t), second+`\discord-ipc-1`)
	require.ErrorContains(t, err, "the client has ended; start the client")
}
