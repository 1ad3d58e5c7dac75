// Package texts holds all that is said to users, as messages in several languages. A message has a key, such as
// "tray.quit", and a template in each language; who says something gives the key and the arguments, and a Printer puts
// them into words. No sentence is put together of pieces: what depends on an argument is a whole message in several forms.
package texts

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// English is the language that has every message, and that stands in where another lacks one.
const English = "en"

// Messages are the templates of one language by their keys.
type Messages map[string]Template

// Set is the languages that there are: those that ship, and what a vendor adds to them.
type Set struct {
	shipped map[string]func() Messages
	vendor  map[string]Messages // override the shipped ones, or are languages of their own
}

//go:generate go test -run TestArchiveIsCurrent -update .

// archive is the folder messages, which takes a third of a mebibyte less in it: ten files in which each key stands again.
//
//go:embed messages.zip
var archive []byte

// Shipped are the languages that every agent has. Each is read when something is first said in it.
var Shipped = shipped()

func shipped() *Set {
	s := &Set{shipped: make(map[string]func() Messages)}
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(err) // a mistake of the build, which no test survives
	}
	for _, f := range files.File {
		s.shipped[strings.TrimSuffix(f.Name, ".json")] = sync.OnceValue(func() Messages { return read(files, f.Name) })
	}
	return s
}

func read(files fs.FS, name string) Messages {
	data, err := fs.ReadFile(files, name)
	var m Messages
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		panic(fmt.Sprintf("message file %s: %v", name, err)) // likewise
	}
	return m
}

// For is the Printer of a language that ships, or of English if that one does not.
func For(lang string) Printer { return Shipped.For(lang) }

// Of is a Printer of these messages and the English ones.
func Of(lang string, m Messages) Printer {
	return (&Set{Shipped.shipped, map[string]Messages{lang: m}}).For(lang)
}

// For is the Printer of one of the set's Languages, or of English if it is none.
func (s *Set) For(lang string) Printer {
	if !slices.Contains(s.Languages(), lang) {
		lang = English
	}
	p := Printer{lang: lang}
	p.add(lang, s.ofVendor(lang))
	p.add(lang, s.shipped[lang])
	if lang != English {
		p.add(English, s.ofVendor(English))
		p.add(English, s.shipped[English])
	}
	return p
}

func (s *Set) ofVendor(lang string) func() Messages {
	if m := s.vendor[lang]; m != nil {
		return func() Messages { return m }
	}
	return nil
}

// Only is the set with some of its languages, and English.
func (s *Set) Only(languages []string) *Set {
	drop := func(lang string) bool { return lang != English && !slices.Contains(languages, lang) }
	some := &Set{maps.Clone(s.shipped), maps.Clone(s.vendor)}
	maps.DeleteFunc(some.shipped, func(lang string, _ func() Messages) bool { return drop(lang) })
	maps.DeleteFunc(some.vendor, func(lang string, _ Messages) bool { return drop(lang) })
	return some
}

// Languages are the BCP 47 tags of all languages, in their alphabetic order.
func (s *Set) Languages() []string {
	all := make(map[string]bool)
	for lang := range s.shipped {
		all[lang] = true
	}
	for lang := range s.vendor {
		all[lang] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// Keys are those of all messages, in their alphabetic order.
func Keys() []string { return slices.Sorted(maps.Keys(english())) }

func english() Messages { return Shipped.shipped[English]() }

// With is the set with a vendor's texts added: other words for messages of its languages, or whole languages, where
// English stands in for what they lack. If there is a mistake the set is nil.
func (s *Set) With(vendor map[string]Messages) (*Set, []Mistake) {
	var wrong []Mistake
	for _, lang := range slices.Sorted(maps.Keys(vendor)) {
		if tag, err := language.Parse(lang); err != nil || tag.String() != lang {
			wrong = append(wrong, Mistake{Language: lang, Message: `want the tag of a language (BCP 47), such as "nl" or "zh-Hant"`})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(vendor[lang])) {
			if _, known := english()[key]; !known {
				wrong = append(wrong, Mistake{lang, key, "unknown key", Keys()})
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

// Mistake is what is wrong with a vendor's text.
type Mistake struct {
	Language string
	Key      string // "": the language itself is wrong
	Message  string
	Valid    []string // the keys that there are, where Key is none
}
