package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
)

// dials is how many ports were connected to in the next d.
func (m *machine) dials(d time.Duration) int {
	count := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.dialled)
	}
	before := count()
	pass(d)
	return count() - before
}

// A port that the system does not list is most often closed, and to find that out takes 2 s on Windows.
func TestPortsThatAreNotListedAreTriedLastAndSeldom(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.windows = true
		h := v.start(Options{})
		h.publish(devices.True)
		require.Zero(t, v.dials(7*time.Second), "the quick search asks the system")
		require.Equal(t, 3, v.dials(time.Minute))
		require.LessOrEqual(t, v.dials(time.Hour), 12*3)

		h.Resend()
		require.Zero(t, v.dials(7*time.Second))
		require.Equal(t, 3, v.dials(time.Minute), "once more after a sleep")

		v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(time.Second)
		require.Equal(t, Ready, h.session().State)
		require.Zero(t, v.dials(time.Hour), "a client is served, and nothing happens")
	})
}

// Whoever appears while a try waits for its refusals is served at once.
func TestNobodyWaitsForPortsThatAreNotListed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.windows = true
		h := v.start(Options{ProbeTimeout: time.Minute})
		h.publish(devices.True)
		tries := 0
		for tries == 0 {
			tries = v.dials(10 * time.Millisecond)
		}
		began := time.Now()
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(100 * time.Millisecond)
		require.Equal(t, devices.True, mute(s))
		h.stop()
		require.Less(t, time.Since(began), 200*time.Millisecond)
	})
}

// A relay's port is in no table.
func TestAClientOnAPortThatIsNotListedIsFound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.windows, v.unlisted = true, []int{6463}
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop})
		h := v.reporting(Options{}, devices.True, 12*time.Second)
		require.Equal(t, devices.True, mute(s))
		require.Equal(t, Address{Transport: HTTP, Port: 6463}, h.session().Address, "nobody knows whose it is")

		process.Kill()
		pass(5 * time.Second)
		require.Empty(t, h.Status().Sessions)
		s = v.client(v.program(101), fakeserver.Options{Profile: fakeserver.Desktop})
		pass(15 * time.Second)
		require.Equal(t, devices.True, mute(s), "it is back in a moment")

		h.Reconfigure(v.complete(h, Options{Ports: []int{6464}}))
		pass(time.Second)
		require.Empty(t, h.Status().Sessions, "the settings leave its port out now")
	})
}

// What the system tells of goes first.
func TestPortsThatAreNotListedComeAfterOthers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.windows, v.unlisted = true, []int{6463}
		hidden := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
		h := v.reporting(Options{}, devices.True, 12*time.Second)
		listed := v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Desktop, Ports: []int{6464}})
		pass(40 * time.Second)
		h.publish(devices.False)
		pass(40 * time.Second)
		require.Equal(t, devices.False, mute(hidden))
		require.Equal(t, devices.False, mute(listed))
		require.Equal(t, 6464, h.session().Port)
		require.Equal(t, 6463, h.Status().Sessions[1].Port)
	})
}

// Where the system lists all ports, none else is connected to.
func TestACompleteTableIsBelieved(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.unlisted = []int{6463}
		v.client(v.Process(local.Process{PID: 100, UID: someUser}), fakeserver.Options{Profile: fakeserver.Desktop})
		h := v.start(Options{})
		h.publish(devices.True)
		require.Zero(t, v.dials(time.Hour))
	})
}
