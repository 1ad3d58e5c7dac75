package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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

// parsePush reads the body of a push.
func parsePush(body []byte) (p PushRequest, err error) {
	if _, err = decode(body, &p); err != nil {
		return p, err
	}
	err = cmp.Or(checkText("owner", p.Owner, maxOwner), checkWhole("ttl_ms", p.TTLms, MaxLease.Milliseconds()))
	if err == nil && p.Serial != "" {
		err = checkText("serial", p.Serial, maxSerial)
	}
	if err == nil && len(p.State) == 0 {
		err = fmt.Errorf("$.state: want at least one flag: %s", strings.Join(devices.HardwareMute.Enum(), ", "))
	}
	return p, err
}

// Flags are what a push says: true, false, or nil for "no longer said".
type Flags map[devices.Field]*bool

// UnmarshalJSON refuses a flag that does not exist: a slip there would silently lose a mute.
func (f *Flags) UnmarshalJSON(text []byte) error {
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	*f = make(Flags, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		field := devices.Field(name)
		if !slices.Contains(devices.Fields, field) {
			return fmt.Errorf("$.state: there is no flag %.40q; %s", name, strictyaml.Suggest(name, field.Enum()))
		}
		switch value := given[name].(type) {
		case nil:
			(*f)[field] = nil
		case bool:
			(*f)[field] = &value
		default:
			return fmt.Errorf("$.state.%s: want true, false or null", name)
		}
	}
	return nil
}
