package pulse

import "strings"

// moduleArguments parses the argument of a PulseAudio module: key=value pairs separated by white space; values are bare or in single or
// double quotes, and a backslash escapes the next character. The last value of a key counts. Parsing stops at text that is no pair; ok is
// false then.
func moduleArguments(s string) (args map[string]string, ok bool) {
	args = make(map[string]string)
	for {
		s = strings.TrimLeft(s, " \t\n\r\v\f")
		if s == "" {
			return args, true
		}
		key, rest, found := strings.Cut(s, "=")
		if !found || key == "" || strings.ContainsAny(key, " \t\n\r\v\f") {
			return args, false
		}
		value, after, closed := argumentValue(rest)
		if !closed {
			return args, false
		}
		args[key], s = value, after
	}
}

// argumentValue parses one value; closed is false if a quote or an escape is incomplete.
func argumentValue(s string) (value, rest string, closed bool) {
	ends := " \t\n\r\v\f"
	quoted := s != "" && (s[0] == '"' || s[0] == '\'')
	if quoted {
		ends, s = s[:1], s[1:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			b.WriteByte(s[i])
		case strings.IndexByte(ends, s[i]) >= 0:
			return b.String(), s[i+1:], true
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "", !quoted
}
