package texts

import (
	"strings"

	"golang.org/x/text/language"
)

// Match is the language of the set for somebody who prefers these, the best first, as BCP 47 tags. A dialect is taken for
// its language, another script is not: who reads traditional Chinese may prefer English to simplified Chinese. It is English
// if nothing fits.
func (s *Set) Match(preferred ...string) string {
	list := s.Languages()
	tags := make([]language.Tag, len(list))
	for i, lang := range list {
		tags[i] = language.Make(lang)
	}
	matcher := language.NewMatcher(tags)
	for _, lang := range preferred {
		tag, err := language.Parse(lang)
		if err != nil {
			continue
		}
		if _, i, confidence := matcher.Match(tag); confidence >= language.High {
			return list[i]
		}
	}
	return English
}

// FromEnvironment are the languages that a POSIX environment asks for, the best first, as BCP 47 tags: the list in LANGUAGE,
// which counts unless the locale is C, and that of LC_ALL, LC_MESSAGES or LANG.
func FromEnvironment(getenv func(string) string) (preferred []string) {
	var locale string
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale = getenv(name); locale != "" {
			break
		}
	}
	own := fromLocale(locale)
	if own == "" {
		return nil
	}
	for l := range strings.SplitSeq(getenv("LANGUAGE"), ":") {
		if tag := fromLocale(l); tag != "" {
			preferred = append(preferred, tag)
		}
	}
	return append(preferred, own)
}

// fromLocale makes a tag of a POSIX locale, such as sr_RS.UTF-8@latin; "" of C, POSIX and what is none.
func fromLocale(locale string) string {
	name, modifier, _ := strings.Cut(locale, "@")
	name, _, _ = strings.Cut(name, ".")
	if name == "" || name == "C" || name == "POSIX" {
		return ""
	}
	parts := strings.Split(name, "_")
	if script, ok := map[string]string{"latin": "Latn", "cyrillic": "Cyrl"}[modifier]; ok {
		parts = append([]string{parts[0], script}, parts[1:]...)
	}
	tag, err := language.Parse(strings.Join(parts, "-"))
	if err != nil {
		return ""
	}
	return tag.String()
}
