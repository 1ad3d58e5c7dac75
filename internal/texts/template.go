package texts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Template is the message of one key in one language: a text with placeholders for arguments, or several forms of it.
//
//	"{name} is there"                               {name} is an argument as it is
//	"for {age:duration}", "{age:ago}"               a time.Duration in words
//	"{flags:flag}"                                  words: the message flag.VALUE for each value of a List
//	"{names:list}", "{names:quoted}"                a List of names, as the language joins and quotes them
//	"{states:state}"                                a List of states, each with its flag and its value
//	{"one": "{n:count} mic", "other": "{n:count} mics"}   by the language's plural forms (CLDR) of the argument n
//	{"pid": "it is {pid}", "kind=a, pid": "…", "other": "it is"} by the arguments present, and their values
//
// Of several forms that fit, the one with the most conditions is used, and "other" if none does.
type Template map[string]string

const other = "other"

// categories are the plural forms that languages may have (CLDR), by plural.Form.
var categories = []string{other, "zero", "one", "two", "few", "many"}

// kinds are the kinds of placeholders other than groups of words.
var kinds = []string{"", "count", "duration", "ago", "list", "quoted", "state"}

// place matches a placeholder.
var place = regexp.MustCompile(`\{([a-z_]+)(?::([a-z]+))?\}`)

// UnmarshalJSON reads a text, or an object of forms.
func (t *Template) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*t = Template{other: text}
		return nil
	}
	var forms map[string]string
	if err := json.Unmarshal(data, &forms); err != nil || len(forms) == 0 {
		return fmt.Errorf("want a text, or forms such as one: and other: with a text each")
	}
	*t = forms
	return nil
}

// counted returns the argument whose number selects the form; "" if none does.
func (t Template) counted() string {
	for _, text := range t {
		if before, _, counts := strings.Cut(text, ":count}"); counts {
			return before[strings.LastIndex(before, "{")+1:]
		}
	}
	return ""
}

// Plural reports whether the forms are the plural forms of a number.
func (t Template) Plural() bool {
	return t.counted() != "" && !slices.ContainsFunc(t.Forms(), func(form string) bool { return !slices.Contains(categories, form) })
}

// Forms returns the names of the forms, those with the most conditions first.
func (t Template) Forms() []string {
	conditions := func(form string) int {
		if form == other {
			return -1
		}
		return strings.Count(form, ",")
	}
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(conditions(b)-conditions(a), strings.Compare(b, a)) // kind=a before kind
	})
}

// form returns the text for these arguments. category returns the plural form of a number in the template's language.
func (t Template) form(args Args, category func(number string) string) string {
	if t.Plural() {
		if text, ok := t[category(args[t.counted()])]; ok {
			return text
		}
		return t[other]
	}
	for _, name := range t.Forms() {
		if name != other && fits(name, args) {
			return t[name]
		}
	}
	return t[other]
}

// fits reports whether the arguments meet all conditions of a form.
func fits(form string, args Args) bool {
	for ask := range strings.SplitSeq(form, ",") {
		name, want, exact := strings.Cut(strings.TrimSpace(ask), "=")
		if value := args[name]; value == "" || exact && value != want {
			return false
		}
	}
	return true
}

// Arguments returns the names of all arguments that the forms contain or test, and of those that "other" contains, without which
// the message says nothing.
func (t Template) Arguments() (all, needed []string) {
	for form, text := range t {
		if !t.Plural() && form != other {
			for ask := range strings.SplitSeq(form, ",") {
				name, _, _ := strings.Cut(strings.TrimSpace(ask), "=")
				all = append(all, name)
			}
		}
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
			if form == other {
				needed = append(needed, m[1])
			}
		}
	}
	slices.Sort(all)
	slices.Sort(needed)
	return slices.Compact(all), slices.Compact(needed)
}

// check returns what is wrong with a template for a key: it may use only what the English template uses.
func check(key string, t Template) error {
	if _, ok := t[other]; !ok {
		return fmt.Errorf("the form %q is missing, which is taken where no other fits", other)
	}
	known, needed := english()[key].Arguments()
	for _, form := range t.Forms() {
		for _, name := range needed {
			if _, shown := (Template{other: t[form]}).Arguments(); carriesOthers(key) && !slices.Contains(shown, name) {
				return fmt.Errorf("the place {%s} is missing, without which a part of what is said would be lost", name)
			}
		}
		for _, m := range place.FindAllStringSubmatch(t[form], -1) {
			if kind := m[2]; !slices.Contains(kinds, kind) && !isGroup(kind) {
				return fmt.Errorf("{%s:%s}: there is no kind of words %q", m[1], kind, kind)
			}
		}
		if rest := place.ReplaceAllString(t[form], ""); strings.ContainsAny(rest, "{}") {
			return fmt.Errorf("a brace belongs to no place such as {name} in %q", t[form])
		}
	}
	all, _ := t.Arguments()
	for _, name := range all {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			return fmt.Errorf("there is no argument {%s}: this message has none", name)
		default:
			return fmt.Errorf("there is no argument {%s}: this message has {%s}", name, strings.Join(known, "}, {"))
		}
	}
	return nil
}

// carriesOthers reports whether a message only joins other messages and names.
func carriesOthers(key string) bool { return strings.HasPrefix(key, "join.") || key == "duration.both" }

// isGroup reports whether there are messages for words of this kind.
func isGroup(kind string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(english())), func(key string) bool { return strings.HasPrefix(key, kind+".") })
}
