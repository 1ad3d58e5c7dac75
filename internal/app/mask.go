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
	"unicode"
	"unicode/utf8"
)

// mask replaces whatever identifies a person or a single device.
type mask struct {
	names     map[string]string // the replacements, by what they replace
	addresses map[string]string // likewise, of Bluetooth addresses
}

// The replacements of the user's home folder and name.
const (
	home     = "HOME"
	userName = "USER"
)

func newMask(host Host) *mask {
	m := &mask{names: make(map[string]string), addresses: make(map[string]string)}
	if path := cmp.Or(host.Getenv("HOME"), host.Getenv("USERPROFILE")); len(path) > 1 {
		m.names[path] = home
	}
	if u, err := user.Current(); err == nil && len(u.Username) > 2 && u.Username != "root" {
		m.names[u.Username] = userName
	}
	return m
}

// serial masks a serial number. Each gets a replacement of its own, so that units can be told apart.
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

// notInNames is what udev and PulseAudio replace in a serial number that becomes a part of a name.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// serials are the serial numbers that the agent has seen: its timeline also has units that are gone.
type serials struct {
	mu   sync.Mutex
	seen []string // the newest last
}

// maxSerials bounds serials. The timeline holds fewer units.
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

// bluetoothAddress matches an address as people write it, in paths of BlueZ and in names of the sound server.
var bluetoothAddress = regexp.MustCompile(`(?i)([0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){5}|[0-9a-f]{2}(_[0-9a-f]{2}){5})`)

// apply masks addresses first, since one may be a serial number as well, and then the longest names first, since one may be the beginning
// of another.
func (m *mask) apply(text string) string {
	text = bluetoothAddress.ReplaceAllStringFunc(text, func(a string) string {
		a = strings.ToLower(strings.NewReplacer("-", ":", "_", ":").Replace(a))
		if _, known := m.addresses[a]; !known {
			m.addresses[a] = fmt.Sprintf("ADDRESS-%d", len(m.addresses)+1)
		}
		return m.addresses[a]
	})
	byFirst := make(map[byte][]string)
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(m.names), longest) {
		byFirst[what[0]] = append(byFirst[what[0]], what)
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		names := byFirst[text[i]]
		n := slices.IndexFunc(names, func(what string) bool {
			return strings.HasPrefix(text[i:], what) && m.stands(what, text[:i], text[i+len(what):])
		})
		if n < 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(m.names[names[n]])
		i += len(names[n])
	}
	return out.String()
}

// stands reports whether what is between two texts is a whole name: the user "anna" is not in "savannah", and the folder of "annabel" is
// not that of "anna". A serial number may be a part of another name.
func (m *mask) stands(what, before, after string) bool {
	inWord := func(r rune, _ int) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	ends := !inWord(utf8.DecodeRuneInString(after))
	switch m.names[what] {
	case home:
		return ends
	case userName:
		return ends && (!inWord(utf8.DecodeLastRuneInString(before)) || escaped.MatchString(before[max(0, len(before)-len(`\u0000`)):]))
	default:
		return true
	}
}

// escaped matches an escaped character of a quoted text or a URL, whose last letter does not belong to the word that follows.
var escaped = regexp.MustCompile(`(\\[a-z]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$`)

// jsonString is a string in JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// json masks the texts of a JSON document. It leaves times and numbers alone, which may contain a short serial number by chance.
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
