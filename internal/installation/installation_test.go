package installation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// program is a process that a test makes up.
type program struct {
	listens      bool
	takes        time.Duration // to do what it is asked; 0: for ever
	said         []Request
	end          chan struct{}
	killed, open bool
}

func newProgram(listens bool, takes time.Duration) *program {
	return &program{listens: listens, takes: takes, end: make(chan struct{}), open: true}
}

func (p *program) Ask(r Request) bool {
	if p.listens {
		p.said = append(p.said, r)
		if p.takes > 0 {
			time.AfterFunc(p.takes, func() { close(p.end) })
		}
	}
	return p.listens
}

func (p *program) Wait(limit time.Duration) bool {
	select {
	case <-p.end:
		return true
	default:
	}
	select {
	case <-p.end:
		return true
	case <-time.After(limit):
		return false
	}
}

func (p *program) Kill() error {
	p.killed = true
	close(p.end)
	return nil
}

func (p *program) Close() { p.open = false }

// machine lists those that have not ended.
func machine(all ...*program) func() ([]Process, error) {
	return func() (list []Process, err error) {
		for _, p := range all {
			if !p.Wait(0) {
				list = append(list, p)
			}
		}
		return list, nil
	}
}

// TestEndAll: those that listen end in order, all others by force, and none is waited for without end.
func TestEndAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, hung, deaf := newProgram(true, time.Second), newProgram(true, 0), newProgram(false, 0)
		start := time.Now()
		require.NoError(t, EndAll(machine(agent, hung, deaf)))
		require.Equal(t, endTime, time.Since(start))
		require.Equal(t, []Request{End}, agent.said)
		require.False(t, agent.killed)
		require.True(t, hung.killed && deaf.killed)
		require.False(t, agent.open || hung.open || deaf.open)

		require.NoError(t, EndAll(machine()), "nothing runs")
		fails := errors.New("no list")
		require.ErrorIs(t, EndAll(func() ([]Process, error) { return nil, fails }), fails)
	})
}

// TestEndAllThatAreStartedMeanwhile: who looks after an agent may have started another one.
func TestEndAllThatAreStartedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newProgram(true, time.Second), newProgram(true, time.Second)
		looks := 0
		require.NoError(t, EndAll(func() ([]Process, error) {
			looks++
			return machine([][]*program{{first}, {first, second}, nil}[looks-1]...)()
		}))
		require.Equal(t, 3, looks)
		require.Equal(t, []Request{End}, second.said)
	})
}

// TestUpgradeAll: nobody is killed, whoever goes on as before.
func TestUpgradeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, stays, deaf := newProgram(true, 2*time.Second), newProgram(true, 0), newProgram(false, 0)
		start := time.Now()
		require.NoError(t, UpgradeAll(machine(agent, stays, deaf)))
		require.Equal(t, upgradeTime, time.Since(start))
		require.Equal(t, []Request{Upgrade}, agent.said)
		require.False(t, stays.killed || deaf.killed)
		require.False(t, agent.open || stays.open || deaf.open)
	})
}

func TestWhoseProgramItIs(t *testing.T) {
	names := []string{"acme-agent.exe", "acme-agentw.exe"}
	for path, want := range map[string]bool{
		`C:\Program Files\acme-agent\acme-agent.exe`:           true,
		`c:\program files\ACME-AGENT\Acme-AgentW.exe`:          true,
		`C:\Program Files\acme-agent\acme-agent.exe.1.old`:     true,
		`C:\Program Files\acme-agent\acme-agent.exe.txt`:       false,
		`C:\Program Files\acme-agent\acme-agent-service.exe`:   false,
		`C:\Program Files\acme-agent\more\acme-agent.exe`:      false,
		`C:\Users\kim\acme-agent\acme-agent.exe`:               false,
		`C:\Program Files\acme-agent-other\acme-agent.exe`:     false,
		`C:\Program Files\beta-agent\beta-agent.exe`:           false,
		`C:\Program Files\acme-agent\other.acme-agent.exe.old`: false,
		`\Device\HarddiskVolume2\Program Files\acme-agent.exe`: false,
		`acme-agent.exe`: false,
	} {
		require.Equal(t, want, isOf(path, `C:\Program Files\acme-agent\`, names), path)
	}
}

// TestSetAside: a copy is in the place of each program, and what was set aside goes when nobody needs it any more.
func TestSetAside(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(text)
	}
	names := []string{"agent.exe", "agentw.exe", "missing.exe"}
	write("agent.exe", "one")
	write("agentw.exe", "tray")
	write("agent.brand.yaml.old", "somebody's")
	require.NoError(t, SetAside(folder, names))
	require.Equal(t, "one", read("agent.exe"))
	require.Equal(t, "one", read("agent.exe.0.old"))
	write("agent.exe", "two")
	require.NoError(t, SetAside(folder, names))
	require.Equal(t, "two", read("agent.exe"))
	require.Equal(t, "one", read("agent.exe.0.old"))
	require.Equal(t, "two", read("agent.exe.1.old"))
	require.NoError(t, RemoveAside(folder))
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{
		filepath.Join(folder, "agent.brand.yaml.old"), filepath.Join(folder, "agent.exe"), filepath.Join(folder, "agentw.exe"),
	}, left)
}
