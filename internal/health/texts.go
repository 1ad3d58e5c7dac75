package health

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is what a language says of one code: parts of sentences, written as errors are, without a full stop.
//
//	{name}             the argument of that name; {subject} is what the condition is about
//	{because}          what the condition follows from
//	{name|one|many}    a number with its noun, such as {devices|device|devices}
//	{name?this|that}   this if there is such an argument, else that
//	[, of {name}]      left out where an argument in it is missing
type Text struct {
	Message string
	Remedy  string // what a person can do about it; "": nothing. One of what the condition follows from comes first
}

// Texts are all the texts of one language.
type Texts map[Code]Text

var (
	place    = regexp.MustCompile(`\{([a-z_]+)(?:([|?])([^|}]*)\|([^}]*))?\}`)
	optional = regexp.MustCompile(`\[[^\[\]]*\{[^\[\]]*\]`)
)

// Message is the condition as one sentence.
func (t Texts) Message(c Condition) string {
	template, message := t[c.Code].Message, t.Phrase(c)
	ours := strings.HasPrefix(template, "{subject}") || strings.HasPrefix(template, "{because}")
	if ours || !strings.HasPrefix(template, "{") { // any other argument begins as it is
		message = capital(message)
	}
	return sentence(message)
}

// Phrase is the condition as an error reads.
func (t Texts) Phrase(c Condition) string { return t.fill(t[c.Code].Message, c) }

// Phrases are those of several conditions.
func (t Texts) Phrases(list []Condition) (phrases []string) {
	for _, c := range list {
		phrases = append(phrases, t.Phrase(c))
	}
	return phrases
}

// Reason is the phrase of a condition from which another follows, after what it is about.
func (t Texts) Reason(c Condition) string {
	if c.Subject == "" {
		return t.Phrase(c)
	}
	return c.Subject + ": " + t.Phrase(c)
}

// Advice is what to do about the condition, as an error reads; "" if there is nothing to do.
func (t Texts) Advice(c Condition) string {
	for _, reason := range c.Because {
		if advice := t.Advice(reason); advice != "" {
			return advice
		}
	}
	return t.fill(t[c.Code].Remedy, c)
}

// Remedy is what to do about the condition, as a sentence.
func (t Texts) Remedy(c Condition) string { return sentence(capital(t.Advice(c))) }

// Check says what is wrong with a condition: a code without a text, an argument that is missing, one that no text has.
func (t Texts) Check(c Condition) error {
	text, ok := t[c.Code]
	if !ok {
		return fmt.Errorf("the code %q has no text", c.Code)
	}
	both := text.Message + text.Remedy
	for _, name := range needed(optional.ReplaceAllString(both, "")) {
		if t.argument(name, c) == "" {
			return fmt.Errorf("%s: no argument {%s}", c.Code, name)
		}
	}
	for name := range c.Args {
		if !slices.ContainsFunc(place.FindAllStringSubmatch(both, -1), func(m []string) bool { return m[1] == name }) {
			return fmt.Errorf("%s: no text has a place for the argument {%s}", c.Code, name)
		}
	}
	for _, reason := range c.Because {
		if err := t.Check(reason); err != nil {
			return err
		}
	}
	return nil
}

// needed are the names of the arguments without which a template is not whole.
func needed(template string) (list []string) {
	for _, m := range place.FindAllStringSubmatch(template, -1) {
		if m[2] != "?" {
			list = append(list, m[1])
		}
	}
	return list
}

// argument is what stands at the place of that name; "" if it is missing.
func (t Texts) argument(name string, c Condition) string {
	switch name {
	case "subject":
		return c.Subject
	case "because":
		var reasons []string
		for _, reason := range c.Because {
			reasons = append(reasons, t.Reason(reason))
		}
		return strings.Join(reasons, "; ")
	default:
		return c.Args[name]
	}
}

// fill puts the arguments into a template. The place of one that is missing stays, so that it shows.
func (t Texts) fill(template string, c Condition) string {
	template = optional.ReplaceAllStringFunc(template, func(part string) string {
		if slices.ContainsFunc(needed(part), func(name string) bool { return t.argument(name, c) == "" }) {
			return ""
		}
		return part[1 : len(part)-1]
	})
	return place.ReplaceAllStringFunc(template, func(whole string) string {
		m := place.FindStringSubmatch(whole)
		value, kind, first, second := t.argument(m[1], c), m[2], m[3], m[4]
		switch {
		case kind == "?" && value == "":
			return second
		case kind == "?":
			return first
		case value == "":
			return whole
		case kind == "|" && value == "1":
			return value + " " + first
		case kind == "|":
			return value + " " + second
		default:
			return value
		}
	})
}

// sentence ends s as one, in one line.
func sentence(s string) string {
	if s = strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")); s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// capital makes s fit for the beginning of a sentence.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
