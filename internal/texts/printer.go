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

// Args are the arguments of a message by name: names as they are, numbers in digits, durations as time.Duration writes them,
// words by the last part of their key, a state as flag=value, several of one kind as a List. An empty one is none.
type Args map[string]string

// List is several values as one argument, which a place such as {names:list} shows as the language joins them.
func List(values ...string) string { return strings.Join(values, "\n") }

// Printer says messages in one language.
type Printer struct {
	lang    string
	layers  []layer
	isolate bool
	rewrite func(string) string // nil: as they are
}

// layer is one source of messages, the first that has a key counts. They are read when something is said: most commands say nothing.
type layer struct {
	tag      language.Tag
	messages func() Messages
}

func (p *Printer) add(lang string, messages func() Messages) {
	if messages != nil {
		p.layers = append(p.layers, layer{language.Make(lang), messages})
	}
}

// Lang is the BCP 47 tag of the language.
func (p Printer) Lang() string { return p.lang }

// Isolated is the same with each name that is put into a message between U+2068 and U+2069, so that one that reads from right to
// left disturbs nothing around it. It is for what is drawn, not for a terminal.
func (p Printer) Isolated() Printer {
	p.isolate = true
	return p
}

// Rewritten is the same with each message, before its arguments are put into it, as rewrite has it.
func (p Printer) Rewritten(rewrite func(string) string) Printer {
	p.rewrite = rewrite
	return p
}

// find is the template of a key, and the layer that has it.
func (p Printer) find(key string) (Template, layer) {
	for _, l := range p.layers {
		if t, ok := l.messages()[key]; ok {
			return t, l
		}
	}
	return nil, layer{}
}

// Template is that of a key; nil: there is none.
func (p Printer) Template(key string) Template {
	t, _ := p.find(key)
	return t
}

// Text is the message of a key. A key that there is not stands for itself, and a place without its argument stays, so that both
// show.
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

// Begins is the argument with which the message begins as it is; "" if it begins with a word.
func (p Printer) Begins(key string, args Args) string {
	t, l := p.find(key)
	text := t.form(args, l.category)
	if at := place.FindStringSubmatchIndex(text); at != nil && at[0] == 0 && at[4] < 0 {
		return text[at[2]:at[3]]
	}
	return ""
}

// Sentence ends a phrase as a sentence, in one line, and lets it begin with a capital letter if that is wanted.
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

// setting is a name such as sources.audio at the beginning of a phrase.
var setting = regexp.MustCompile(`^[a-z]+[._][a-z]`)

// Capital is a phrase as it stands at the beginning of a sentence. The name of a setting stays as it is written.
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

// Join makes one phrase of several by a message with places for the first and the rest.
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

// argument puts a value of that kind into words.
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

// word puts one value of a list into words.
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

// name is a value that is not ours.
func (p Printer) name(value string) string {
	if p.isolate {
		return "\u2068" + value + "\u2069"
	}
	return value
}

// unit is a length of time in which durations are told, and the key's last part.
type unit struct {
	length time.Duration
	key    string
}

var units = []unit{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}}

// duration tells the two greatest units of d: "2 h 5 min".
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

// ago tells how long something is past, in the greatest unit of d.
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

// category is the plural form of a whole number.
func (l layer) category(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return other
	}
	return map[plural.Form]string{
		plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
	}[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]
}
