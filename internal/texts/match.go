package texts

import (
	"cmp"
	"strings"

	"golang.org/x/text/language"
)

// Match returns the set's language for a user with these preferences, the best first, as BCP 47 tags; English if none matches. A dialect
// matches its language, but not another script: a reader of traditional Chinese may prefer English to simplified Chinese.
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

// FromEnvironment returns the languages that a POSIX environment asks for, the best first, as BCP 47 tags: those in LANGUAGE,
// unless the locale is C, then that of LC_ALL, LC_MESSAGES or LANG.
func FromEnvironment(getenv func(string) string) (preferred []string) {
	own := fromLocale(cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")))
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

// fromLocale returns the tag of a POSIX locale such as sr_RS.UTF-8@latin; "" for C, POSIX and invalid ones.
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
