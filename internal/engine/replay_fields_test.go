package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// TestFieldsThatDiffer: who reads a difference is told what differs, not to find it in two long lines.
func TestFieldsThatDiffer(t *testing.T) {
	yes, no := true, false
	mic := devices.Device{Type: devices.AudioInput, ID: "mic", Related: []string{"speaker"}, HardwareMute: &yes}
	speaker := devices.Device{Type: devices.AudioOutput, ID: "speaker", Related: []string{"mic"}}
	unmuted, unknown, alone := mic, mic, mic
	unmuted.HardwareMute, unknown.HardwareMute, alone.Related = &no, nil, []string{}
	list := func(generation uint64, t time.Duration, all ...devices.Device) Record {
		return Record{T: Span(t), List: &List{Generation: generation, Devices: all}}
	}
	for name, c := range map[string]struct {
		recorded, replayed Record
		exact              bool
		want               []string
	}{
		"a flag":        {list(1, 0, mic), list(1, 0, unmuted), true, []string{`audioinput "mic": hardware_mute recorded true, replayed false`}},
		"a flag's loss": {list(1, 0, mic), list(1, 0, unknown), true, []string{`audioinput "mic": hardware_mute recorded true, replayed nothing`}},
		"a device": {list(1, 0, alone), list(1, 0, mic, speaker), true, []string{
			`audioinput "mic": related recorded [], replayed ["speaker"]`, `audiooutput "speaker": not in the recording`,
		}},
		"no device": {list(1, 0, speaker, mic), list(1, 0, speaker), true, []string{`audioinput "mic": not in the replay`}},
		"the order": {list(1, 0, speaker, mic), list(1, 0, mic, speaker), true, []string{
			`order recorded ["audiooutput \"speaker\"","audioinput \"mic\""], replayed ["audioinput \"mic\"","audiooutput \"speaker\""]`,
		}},
		"time and number": {list(1, time.Second, mic), list(2, 2*time.Second, mic), true, []string{
			"generation recorded 1, replayed 2", `t recorded "1s", replayed "2s"`,
		}},
		"no time where it does not count": {list(1, time.Second, mic), list(2, 2*time.Second, unmuted), false, []string{
			`audioinput "mic": hardware_mute recorded true, replayed false`,
		}},
	} {
		var says []string
		for _, d := range fieldsThatDiffer(c.recorded, c.replayed, c.exact) {
			says = append(says, d.String())
		}
		require.Equal(t, c.want, says, name)
	}
}
