package doctor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// standing is what an agent on that machine says of itself.
func standing(t *testing.T, p *doctortest.Machine) (codes []health.Code) {
	t.Helper()
	p.Resolve(t)
	for _, c := range doctor.Standing(p.Facts) {
		require.NoError(t, health.English.Check(c), "%+v", c)
		healthtest.Raised(t, c)
		codes = append(codes, c.Code)
	}
	return codes
}

// TestStanding: where all is well an agent says nothing of itself; else it says what doctor says.
func TestStanding(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*doctortest.Machine)
		want []health.Code
	}{
		"all well": {func(*doctortest.Machine) {}, nil},
		"the microphone is the system's default": {
			func(p *doctortest.Machine) { p.Endpoints[0].Default = true },
			[]health.Code{health.UserDefaultInput},
		},
		"reporting is paused": {
			func(p *doctortest.Machine) {
				p.Status.Pause = &control.Pause{Until: doctortest.Now.Add(time.Hour), List: devices.PauseEmpty}
			},
			[]health.Code{health.AgentPaused},
		},
		"it is until somebody ends it": {
			func(p *doctortest.Machine) { p.Status.Pause = &control.Pause{} },
			[]health.Code{health.AgentPaused},
		},
		"the speaker is": {func(p *doctortest.Machine) { p.Endpoints[1].Default = true }, nil},
		"a source fails": {func(p *doctortest.Machine) {
			reason := health.Wrap(errors.New("gone"), health.SoundServerAway, health.Problem, nil).Condition
			p.Sources[0] = control.Source{Name: "audio", Condition: "failing", Reason: control.ConditionOf(&reason)}
		}, []health.Code{health.SourceUnreadable}},
		"a client that has not answered for a moment": {func(p *doctortest.Machine) { p.Status.Generation = 8 }, nil},
		"a client that hangs": {func(p *doctortest.Machine) {
			p.Session(control.Session{State: "slow", Port: 6463, Since: doctortest.Now})
		}, []health.Code{health.ClientSlow}},
		"a push without a product": {
			func(p *doctortest.Machine) {
				p.Push(0, "acme-studio-mic", "suite", devices.HardwareMute, doctortest.Now)
			},
			[]health.Code{health.PushWaits},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := doctortest.New(t)
			c.set(p)
			require.Equal(t, c.want, standing(t, p))
		})
	}
}
