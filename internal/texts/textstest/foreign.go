// Package textstest looks into texts in languages.
package textstest

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// quoted is what somebody else says, and what is typed.
var quoted = regexp.MustCompile(`„[^“”]*[“”]|“[^”]*”|«[^»]*»|「[^」]*」|‘[^’]*’|'[^']*'`)

// english are words that are English, and in none of the languages that ship but in English.
var english = regexp.MustCompile(`(?i)\b(the|is|are|of|and|not|with|which|cannot|without|unknown|been|from|when|says|its|user|reported)\b`)

// path is that of a file.
var path = regexp.MustCompile(`\S*/\S*`)

// latin are languages that are written in Latin letters.
var latin = []string{"de", "es", "fr", "pl", "pt", "tr"}

// international are words that languages with letters of their own write in Latin ones.
var international = strings.Fields(`
	ALSA AppIndicator Bluetooth Ctrl Default Discord DiscordPTB FILE GNOME HID HTTP HUP ID IPC Linux Miniaudio PID POST STOP UID USB WebSocket
	Windows Z all anchor audio camera endpoints false h ipc kill kind links macOS min miniaudio off on origin os pids s sidetone
	sources true udev
`)

// Foreign is what is in a text that is not of its language, other than names: words in English, and in a language with letters of its
// own any in Latin ones.
func Foreign(lang, text string, names ...string) []string {
	for _, n := range names {
		if n != "" {
			text = strings.ReplaceAll(text, n, " ")
		}
	}
	for quoted.MatchString(text) {
		text = quoted.ReplaceAllString(text, " ")
	}
	if slices.Contains(latin, lang) {
		return english.FindAllString(path.ReplaceAllString(text, " "), -1)
	}
	var found []string
	separates := func(r rune) bool { return r > unicode.MaxASCII || strings.ContainsRune(" ()[],;:!?\"\n", r) }
	for _, word := range strings.FieldsFunc(text, separates) {
		isName := strings.ContainsAny(word, "0123456789_./:=*-")
		if strings.ContainsFunc(word, unicode.IsLetter) && !isName && !slices.Contains(international, word) {
			found = append(found, word)
		}
	}
	return found
}
