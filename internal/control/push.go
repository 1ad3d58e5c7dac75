package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

// MaxLease is the longest lease of a push.
const MaxLease = 24 * time.Hour

const (
	maxOwner  = 64 // characters
	maxSerial = 128
)

// parsePush reads the body of a push. Members that it does not know are left alone: a later version may have them. An unknown flag is an
// error: a slip there would silently lose a mute. Errors name the JSON path.
func parsePush(body []byte) (p PushRequest, err error) {
	given, err := objectOf(body)
	if err != nil {
		return p, err
	}
	err = readMembers(given, "$", []member{
		{"owner", true, text(&p.Owner, maxOwner)},
		{"serial", false, text(&p.Serial, maxSerial)},
		{"seq", false, whole(&p.Seq, 1<<64-1)},
		{"ttl_ms", false, whole(&p.TTLms, uint64(MaxLease.Milliseconds()))},
		{"state", true, func(v json.RawMessage, at string) (err error) { p.State, err = flags(v, at); return err }},
	})
	return p, err
}

// flags reads at least one flag, each with true, false or null.
func flags(value json.RawMessage, at string) (map[devices.Field]*bool, error) {
	given, err := members(value, at)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("%s: want at least one flag: %s", at, strings.Join(devices.HardwareMute.Enum(), ", "))
	}
	state := make(map[devices.Field]*bool, len(given))
	for name, v := range given {
		field := devices.Field(name)
		if !slices.Contains(devices.Fields, field) {
			return nil, fmt.Errorf("%s: there is no flag %.40q; %s", at, name, strictyaml.Suggest(name, field.Enum()))
		}
		switch string(v) {
		case "true", "false":
			state[field] = devices.Of(string(v) == "true").Ptr()
		case "null":
			state[field] = nil
		default:
			return nil, fmt.Errorf("%s.%s: want true, false or null, not %s", at, name, kindOf(v))
		}
	}
	return state, nil
}
