package desktop

import (
	"errors"
	"slices"
	"strings"
)

// Entry is a program that may be started at each log-in, as a file of the Desktop Application Autostart Specification says it.
type Entry struct {
	ID      string   // names its file
	Name    string   // for people
	Comment string   // the same, what it does
	Command []string // with its arguments
}

// TrayEntry has the icon of an agent come at log-in, by the command that shows it and the flags that mean the same agent.
func TrayEntry(name string, command, flags []string) Entry {
	return Entry{
		ID: name + "-tray", Name: name, Comment: "Shows which certified devices the chat client knows of",
		Command: slices.Concat(command, flags),
	}
}

// File is the text of its file.
func (e Entry) File() string {
	return "[Desktop Entry]\nType=Application\nName=" + e.Name + "\nComment=" + e.Comment + "\nExec=" + execLine(e.Command) +
		"\nTerminal=false\nNoDisplay=true\n"
}

// escapes are those within quotes of an Exec key; a backslash is escaped once more, as in every string of the file.
var escapes = strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", "$", `\\$`, "%", "%%", "\n", `\n`)

// execLine is a command as the Exec key has it (Desktop Entry Specification, The Exec key).
func execLine(command []string) string {
	var words []string
	for _, w := range command {
		words = append(words, `"`+escapes.Replace(w)+`"`)
	}
	return strings.Join(words, " ")
}

// CommandIn reads the words of Exec back, as File writes them.
func CommandIn(file string) ([]string, error) {
	for line := range strings.Lines(file) {
		if exec, is := strings.CutPrefix(line, "Exec="); is {
			return QuotedWords(strings.ReplaceAll(exec, `\\`, `\`))
		}
	}
	return nil, errors.New("it has no Exec")
}

// QuotedWords are the words of a command line in which each is in quotes, with a backslash before what would end or change it, and two
// percent signs for one: as unit and entry have it.
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
			if quoted = !quoted; !quoted {
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
