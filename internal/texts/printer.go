package texts

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Args are the arguments of a message by name: names as they are, numbers in digits, durations as formatted by time.Duration,
// words by the last part of their key, a state as flag=value, several values of one kind as a List. An empty argument counts as absent.
type Args map[string]string

// List returns several values as one argument, which the language joins in a placeholder such as {names:list}.
func List(values ...string) string { return strings.Join(values, "\n") }

// Printer formats messages in one language.
type Printer struct {
	lang    string
	layers  []layer
	isolate bool
	rewrite func(string) string // applied to templates; nil: none
}

// layer is one source of messages; of several, the first with the key is used. Messages are loaded on first use, since
// most commands print none.
type layer struct {
	tag      language.Tag
	messages func() Messages
}

// Lang returns the BCP 47 tag of the language.
func (p Printer) Lang() string { return p.lang }

// Isolated returns a Printer that puts each name between U+2068 and U+2069, so that a name written from right to left does not
// affect the text around it. It is for graphical output, not for terminals.
func (p Printer) Isolated() Printer {
	p.isolate = true
	return p
}

// Rewritten returns a Printer that applies rewrite to each message before it inserts the arguments.
func (p Printer) Rewritten(rewrite func(string) string) Printer {
	p.rewrite = rewrite
	return p
}

// find returns the template of a key, or nil, and its layer.
func (p Printer) find(key string) (Template, layer) {
	for _, l := range p.layers {
		if t, ok := l.messages()[key]; ok {
			return t, l
		}
	}
	return nil, layer{}
}

// Template returns the template of a key, or nil.
func (p Printer) Template(key string) Template {
	t, _ := p.find(key)
	return t
}

// Text returns the message of a key. An unknown key is returned as it is, and a placeholder without its argument is kept, so that both
// are noticed.
func (p Printer) Text(key string, args Args) string {
	t, l := p.find(key)
	if t == nil {
		return key
	}
	form := t.form(args, l.category)
	if p.rewrite != nil {
		form = p.rewrite(form)
	}
	return place.ReplaceAllStringFunc(form, func(whole string) string {
		m := place.FindStringSubmatch(whole)
		if args[m[1]] == "" {
			return whole
		}
		return p.argument(args[m[1]], m[2])
	})
}

// Begins returns the name of the argument with which the message begins, if that is inserted as it is; otherwise "".
func (p Printer) Begins(key string, args Args) string {
	t, l := p.find(key)
	text := t.form(args, l.category)
	if at := place.FindStringSubmatchIndex(text); at != nil && at[0] == 0 && at[4] < 0 {
		return text[at[2]:at[3]]
	}
	return ""
}

// Sentence turns a phrase into a sentence on one line, with a full stop and, if capital, a capital first letter.
func (p Printer) Sentence(phrase string, capital bool) string {
	phrase = strings.TrimSpace(strings.ReplaceAll(phrase, "\n", " "))
	if phrase == "" {
		return ""
	}
	if capital {
		phrase = p.Capital(phrase)
	}
	if strings.HasSuffix(phrase, ".") || strings.HasSuffix(phrase, "。") {
		return phrase
	}
	return Printer{layers: p.layers}.Text("join.sentence", Args{"phrase": phrase})
}

// setting matches a phrase that begins with a name such as sources.audio.
var setting = regexp.MustCompile(`^[a-z]+[._][a-z]`)

// Capital returns a phrase with a capital first letter. The name of a setting is not changed.
func (p Printer) Capital(phrase string) string {
	r, n := utf8.DecodeRuneInString(phrase)
	switch {
	case n == 0:
		return ""
	case setting.MatchString(phrase):
		return phrase
	case p.lang == "tr" || p.lang == "az":
		return string(unicode.TurkishCase.ToUpper(r)) + phrase[n:] // i becomes İ
	default:
		return string(unicode.ToUpper(r)) + phrase[n:]
	}
}

// Join joins phrases by a message with placeholders for the first and the rest.
func (p Printer) Join(key string, phrases []string) string {
	if len(phrases) == 0 {
		return ""
	}
	joined := phrases[len(phrases)-1]
	for i := len(phrases) - 2; i >= 0; i-- {
		joined = Printer{layers: p.layers}.Text(key, Args{"first": phrases[i], "rest": joined})
	}
	return joined
}

// argument formats a value of a kind.
func (p Printer) argument(value, kind string) string {
	switch kind {
	case "":
		return p.name(value)
	case "count":
		return value
	case "duration", "ago":
		if d, err := time.ParseDuration(value); err == nil && kind == "ago" {
			return p.ago(d)
		} else if err == nil {
			return p.duration(d)
		}
		return p.name(value)
	}
	var words []string
	for v := range strings.SplitSeq(value, "\n") {
		words = append(words, p.word(v, kind))
	}
	if n := len(words) - 1; n > 0 {
		words = append(words[:n-1], p.Join("join.last", words[n-1:]))
	}
	return p.Join("join.words", words)
}

// word formats one value of a list.
func (p Printer) word(value, kind string) string {
	switch t, _ := p.find(kind + "." + value); {
	case kind == "quoted":
		return p.Text("join.quoted", Args{"name": value})
	case kind == "state":
		flag, state, _ := strings.Cut(value, "=")
		return p.Text("join.state", Args{"flag": flag, "value": state})
	case t != nil:
		return p.Text(kind+"."+value, nil)
	default:
		return p.name(value)
	}
}

// name formats a value that comes from elsewhere.
func (p Printer) name(value string) string {
	if p.isolate {
		return "\u2068" + value + "\u2069"
	}
	return value
}

// unit is a unit of time, with the last part of its message keys.
type unit struct {
	length time.Duration
	key    string
}

var units = []unit{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}}

// duration formats d in its two largest units: "2 h 5 min".
func (p Printer) duration(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	for i, u := range units {
		if d < u.length && i < len(units)-1 {
			continue
		}
		first := p.number("duration."+u.key, d/u.length)
		if rest := d % u.length; i < len(units)-1 && rest >= units[i+1].length {
			second := p.number("duration."+units[i+1].key, rest/units[i+1].length)
			return Printer{layers: p.layers}.Text("duration.both", Args{"first": first, "second": second})
		}
		return first
	}
	return ""
}

// ago formats how long ago something happened, in the largest unit of d.
func (p Printer) ago(d time.Duration) string {
	for _, u := range units {
		if d >= u.length {
			return p.number("ago."+u.key, d/u.length)
		}
	}
	return p.Text("ago.now", nil)
}

func (p Printer) number(key string, n time.Duration) string {
	return p.Text(key, Args{"n": strconv.FormatInt(int64(n), 10)})
}

// category returns the plural form of a whole number.
func (l layer) category(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return other
	}
	return categories[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]
}
