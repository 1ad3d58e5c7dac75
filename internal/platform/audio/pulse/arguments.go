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
			i++
			if i == len(s) {
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

// spaObject parses PipeWire's relaxed JSON: white space, ',', '=' and ':' all separate, '#' starts a comment, strings need no quotes, and
// the outermost braces are optional. Values are string or map[string]any; arrays are skipped and become nil. The last value of a key
// counts. ok is false if the text ends early, has too many closing brackets, or is nested deeper than 32 levels.
func spaObject(s string) (object map[string]any, ok bool) {
	p := spaParser{s: s}
	kind, _ := p.token()
	if kind != '{' {
		p = spaParser{s: s, bare: true}
	}
	object = p.object(0)
	return object, !p.bad
}

type spaParser struct {
	s    string
	bare bool // the outermost object has no braces
	bad  bool
}

const spaMaxDepth = 32

const spaSeparators = " \t\r\n,=:"

// token returns the next token: '{', '}', '[', ']', 's' for a string with its text, 0 at the end.
func (p *spaParser) token() (kind byte, text string) {
	for {
		p.s = strings.TrimLeft(p.s, spaSeparators)
		if p.s == "" {
			return 0, ""
		}
		if p.s[0] != '#' {
			break
		}
		_, p.s, _ = strings.Cut(p.s, "\n")
	}
	switch c := p.s[0]; c {
	case '{', '}', '[', ']':
		p.s = p.s[1:]
		return c, ""
	case '"':
		return 's', p.quoted()
	}
	end := strings.IndexAny(p.s, spaSeparators+"{}[]\"#")
	if end < 0 {
		end = len(p.s)
	}
	text, p.s = p.s[:end], p.s[end:]
	return 's', text
}

// quoted reads a quoted string. Escapes other than \" and \\ do not matter here and lose their backslash.
func (p *spaParser) quoted() string {
	var b strings.Builder
	for i := 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.s = p.s[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(p.s):
			i++
			b.WriteByte(p.s[i])
		default:
			b.WriteByte(c)
		}
	}
	p.s, p.bad = "", true
	return ""
}

func (p *spaParser) object(depth int) map[string]any {
	m := make(map[string]any)
	for !p.bad {
		kind, key := p.token()
		switch {
		case kind == '}' && (depth > 0 || !p.bare), kind == 0 && depth == 0 && p.bare:
			return m
		case kind != 's':
			p.bad = true
			return m
		}
		kind, text := p.token()
		m[key] = p.value(kind, text, depth+1)
	}
	return m
}

// value reads the rest of a value that begins with a token.
func (p *spaParser) value(kind byte, text string, depth int) any {
	switch {
	case kind == 's':
		return text
	case kind == '{' && depth <= spaMaxDepth:
		return p.object(depth)
	case kind == '[' && depth <= spaMaxDepth:
		for kind, text := p.token(); kind != ']' && !p.bad; kind, text = p.token() {
			p.value(kind, text, depth+1)
		}
		return nil
	}
	p.bad = true
	return nil
}
