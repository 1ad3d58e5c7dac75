package desktop

import (
	"errors"
	"slices"
	"strings"
)

// Entry is a program that can be started at log-in, as an entry of the Desktop Application Autostart Specification.
type Entry struct {
	ID      string   // name of its file
	Name    string   // for people
	Comment string   // for people, what it does
	Command []string // with its arguments
}

// TrayEntry is the entry of an agent's tray icon: the command that shows it, and the flags by which it finds the agent.
func TrayEntry(name string, command, flags []string) Entry {
	return Entry{
		ID: name + "-tray", Name: name, Comment: "Shows which certified devices the chat client knows of",
		Command: slices.Concat(command, flags),
	}
}

// File returns the content of the entry's file.
func (e Entry) File() string {
	return "[Desktop Entry]\nType=Application\nName=" + e.Name + "\nComment=" + e.Comment + "\nExec=" + execLine(e.Command) +
		"\nTerminal=false\nNoDisplay=true\n"
}

// escapes escape a word within the quotes of an Exec key; backslashes are escaped twice, since all strings of the file escape them.
var escapes = strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", "$", `\\$`, "%", "%%", "\n", `\n`)

// execLine formats a command for the Exec key (Desktop Entry Specification, The Exec key).
func execLine(command []string) string {
	var words []string
	for _, w := range command {
		words = append(words, `"`+escapes.Replace(w)+`"`)
	}
	return strings.Join(words, " ")
}

// CommandIn parses the Exec key that File writes.
func CommandIn(file string) ([]string, error) {
	for line := range strings.Lines(file) {
		if exec, is := strings.CutPrefix(line, "Exec="); is {
			return QuotedWords(strings.ReplaceAll(exec, `\\`, `\`))
		}
	}
	return nil, errors.New("it has no Exec")
}

// QuotedWords splits a command line of quoted words, in which a backslash escapes a character and %% stands for %, as in units and
// entries.
func QuotedWords(line string) (words []string, err error) {
	var word strings.Builder
	var quoted, escaped bool
	for _, r := range strings.TrimSuffix(line, "\n") {
		switch {
		case !quoted && r == ' ':
		case !quoted && r != '"':
			return nil, errors.New("its command line has words without quotes, which are not ours")
		case escaped, quoted && r != '\\' && r != '"':
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		default:
			quoted = !quoted
			if !quoted {
				words = append(words, strings.ReplaceAll(word.String(), "%%", "%"))
				word.Reset()
			}
		}
	}
	if len(words) == 0 {
		return nil, errors.New("its command line is empty")
	}
	return words, nil
}
