// Package texts holds everything that users read, as messages in several languages. A message has a key, such as
// "tray.quit", and a template in each language; a Printer formats it from the key and the arguments.
// Sentences are never assembled from pieces: a message that depends on an argument has several complete forms.
package texts

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// English has every message, and is the fallback for languages that lack one.
const English = "en"

// Messages are the templates of one language by key.
type Messages map[string]Template

// Set is a set of languages: the shipped ones, and what a vendor adds to them.
type Set struct {
	shipped map[string]func() Messages
	vendor  map[string]Messages // override the shipped ones, or are languages of their own
}

//go:embed messages/*.json
var files embed.FS

// Shipped are the languages that every agent has. Each is loaded on first use.
var Shipped = shipped()

func shipped() *Set {
	s := &Set{shipped: make(map[string]func() Messages)}
	names, err := fs.Glob(files, "messages/*.json")
	if err != nil {
		panic(err) // a broken pattern, with which every test fails
	}
	for _, name := range names {
		s.shipped[strings.TrimSuffix(path.Base(name), ".json")] = sync.OnceValue(func() Messages { return read(name) })
	}
	return s
}

func read(name string) Messages {
	data, err := files.ReadFile(name)
	var m Messages
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		panic(fmt.Sprintf("message file %s: %v", name, err)) // likewise
	}
	return m
}

// For returns the Printer of a shipped language, or of English if lang is not shipped.
func For(lang string) Printer { return Shipped.For(lang) }

// Of returns a Printer of these messages and the English ones.
func Of(lang string, m Messages) Printer {
	return (&Set{Shipped.shipped, map[string]Messages{lang: m}}).For(lang)
}

// For returns the Printer of one of the set's Languages, or of English if lang is not among them.
func (s *Set) For(lang string) Printer {
	if !slices.Contains(s.Languages(), lang) {
		lang = English
	}
	p := Printer{lang: lang}
	for _, lang := range slices.Compact([]string{lang, English}) {
		if m := s.vendor[lang]; m != nil {
			p.layers = append(p.layers, layer{language.Make(lang), func() Messages { return m }})
		}
		if m := s.shipped[lang]; m != nil {
			p.layers = append(p.layers, layer{language.Make(lang), m})
		}
	}
	return p
}

// Only returns the set with only these of its languages, and English.
func (s *Set) Only(languages []string) *Set {
	drop := func(lang string) bool { return lang != English && !slices.Contains(languages, lang) }
	some := &Set{maps.Clone(s.shipped), maps.Clone(s.vendor)}
	maps.DeleteFunc(some.shipped, func(lang string, _ func() Messages) bool { return drop(lang) })
	maps.DeleteFunc(some.vendor, func(lang string, _ Messages) bool { return drop(lang) })
	return some
}

// Languages returns the BCP 47 tags of all languages, in alphabetical order.
func (s *Set) Languages() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(s.shipped)), maps.Keys(s.vendor))
	slices.Sort(all)
	return slices.Compact(all)
}

// Keys returns the keys of all messages, in alphabetical order.
func Keys() []string { return slices.Sorted(maps.Keys(english())) }

func english() Messages { return Shipped.shipped[English]() }

// With returns the set with a vendor's texts added: replacements for messages, or more languages, for which
// English supplies missing messages. If there is a mistake, the set is nil.
func (s *Set) With(vendor map[string]Messages) (*Set, []Mistake) {
	var wrong []Mistake
	valid := Keys()
	for _, lang := range slices.Sorted(maps.Keys(vendor)) {
		if tag, err := language.Parse(lang); err != nil || tag.String() != lang {
			wrong = append(wrong, Mistake{Language: lang, Message: `want the tag of a language (BCP 47), such as "nl" or "zh-Hant"`})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(vendor[lang])) {
			if len(wrong) >= maxMistakes {
				return nil, wrong
			}
			if _, known := english()[key]; !known {
				wrong = append(wrong, Mistake{lang, key, "unknown key", valid})
			} else if err := check(key, vendor[lang][key]); err != nil {
				wrong = append(wrong, Mistake{lang, key, err.Error(), nil})
			}
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return &Set{s.shipped, vendor}, nil
}

// maxMistakes is after how many mistakes no more are looked for. To find the key that was meant takes milliseconds.
const maxMistakes = 100

// Mistake is an error in a vendor's text.
type Mistake struct {
	Language string
	Key      string // "": the language itself is wrong
	Message  string
	Valid    []string // the valid keys, if Key is unknown
}
