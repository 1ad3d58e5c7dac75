package installation

import (
	"errors"
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
	stays        bool // even if it is killed
}

func noService() error { return nil }

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
	if !p.stays {
		close(p.end)
	}
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
		require.NoError(t, EndAll(machine(agent, hung, deaf), noService))
		require.Equal(t, endTime, time.Since(start))
		require.Equal(t, []Request{End}, agent.said)
		require.False(t, agent.killed)
		require.True(t, hung.killed && deaf.killed)
		require.False(t, agent.open || hung.open || deaf.open)

		require.NoError(t, EndAll(machine(), noService), "nothing runs")
		fails := errors.New("no list")
		require.ErrorIs(t, EndAll(func() ([]Process, error) { return nil, fails }, noService), fails)
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
		}, noService))
		require.Equal(t, 3, looks)
		require.Equal(t, []Request{End}, second.said)
	})
}

// TestServiceStopsBetween those that listen, which it would have end by the user's settings, and those that are killed, which it would
// start anew.
func TestServiceStopsBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, hung := newProgram(true, time.Second), newProgram(true, 0)
		stops, fails := 0, errors.New("no right")
		require.ErrorIs(t, EndAll(machine(agent, hung), func() error {
			stops++
			require.True(t, agent.Wait(0))
			require.False(t, hung.killed)
			return fails
		}), fails)
		require.Equal(t, 1, stops)
		require.True(t, hung.killed, "all the same")
	})
}

// TestNothingIsWaitedForWithoutEnd: not even many that cannot end.
func TestNothingIsWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*program
		for range 100 {
			p := newProgram(true, 0)
			p.stays = true
			all = append(all, p)
		}
		start := time.Now()
		require.NoError(t, EndAll(machine(all...), noService))
		require.Equal(t, endAllTime, time.Since(start))
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
