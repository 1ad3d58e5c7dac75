package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// mask replaces what names a person or a single device.
type mask struct {
	names     map[string]string // by what they stand for
	addresses map[string]string // likewise, of Bluetooth devices
}

func newMask(host Host) *mask {
	m := &mask{names: make(map[string]string), addresses: make(map[string]string)}
	if home := cmp.Or(host.Getenv("HOME"), host.Getenv("USERPROFILE")); len(home) > 1 {
		m.names[home] = "HOME"
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 2 && u.Username != "root" {
		m.names[u.Username] = "USER"
	}
	return m
}

// serial masks a serial number; each gets its own name, so that units stay apart.
func (m *mask) serial(s string) {
	if len(s) < 2 {
		return
	}
	if _, known := m.names[s]; !known {
		m.names[s] = fmt.Sprintf("SERIAL-%d", len(m.names))
	}
	inName := notInNames.ReplaceAllString(strings.Join(strings.Fields(s), "_"), "_")
	if _, known := m.names[inName]; !known {
		m.names[inName] = m.names[s]
	}
}

// notInNames is what udev and PulseAudio replace where a serial number becomes a part of a name.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// serials are the serial numbers that the agent has met: its timeline speaks of units that have gone.
type serials struct {
	mu   sync.Mutex
	seen []string // the newest last
}

// maxSerials bounds them. The timeline holds fewer units.
const maxSerials = 4096

func (s *serials) add(serial string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if serial == "" || slices.Contains(s.seen, serial) {
		return
	}
	if s.seen = append(s.seen, strings.Clone(serial)); len(s.seen) > maxSerials {
		s.seen = slices.Delete(s.seen, 0, 1)
	}
}

func (s *serials) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// bluetoothAddress is how such an address is written, by people, in paths of BlueZ and in names of the sound server.
var bluetoothAddress = regexp.MustCompile(`(?i)([0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){5}|[0-9a-f]{2}(_[0-9a-f]{2}){5})`)

// apply masks the longest first: one may be the beginning of another. Addresses come before, since
// one may be a serial number as well.
func (m *mask) apply(text string) string {
	text = bluetoothAddress.ReplaceAllStringFunc(text, func(a string) string {
		a = strings.ToLower(strings.NewReplacer("-", ":", "_", ":").Replace(a))
		if _, known := m.addresses[a]; !known {
			m.addresses[a] = fmt.Sprintf("ADDRESS-%d", len(m.addresses)+1)
		}
		return m.addresses[a]
	})
	var pairs []string
	for _, what := range slices.SortedFunc(maps.Keys(m.names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) {
		pairs = append(pairs, what, m.names[what])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// jsonString is a string in JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// json masks the texts of a JSON document and leaves times and numbers alone, in which a short serial number may be found, too.
func (m *mask) json(document []byte) []byte {
	return jsonString.ReplaceAllFunc(document, func(quoted []byte) []byte {
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			return quoted
		}
		if _, err := time.Parse(time.RFC3339, s); err == nil {
			return quoted
		}
		masked, err := json.Marshal(m.apply(s))
		if err != nil {
			return quoted
		}
		return masked
	})
}
