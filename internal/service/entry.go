package service

import (
	"errors"
	"strings"

	"sidetone/internal/platform/desktop"
)

// entry is the autostart entry, of the Desktop Application Autostart Specification.
const entry = `# Written by '@NAME@ service install'.
[Desktop Entry]
Type=Application
Name=@NAME@
Comment=Tells the chat client which certified devices are there
Exec=@COMMAND@
Terminal=false
NoDisplay=true
StartupNotify=false
X-GNOME-Autostart-enabled=true
`

// Entry is the text of the agent's autostart entry.
func (a Agent) Entry() string {
	command := desktop.ExecLine(append([]string{a.Executable}, a.Arguments...))
	return strings.NewReplacer("@NAME@", a.Name, "@COMMAND@", command).Replace(entry)
}

// entryCommand reads the words of Exec back, as Entry writes them.
func entryCommand(text string) (words []string, err error) {
	for line := range strings.Lines(text) {
		exec, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Exec=")
		if !is {
			continue
		}
		exec = strings.ReplaceAll(exec, `\\`, `\`)
		var word strings.Builder
		var quoted, escaped bool
		for _, r := range exec {
			switch {
			case !quoted && r == ' ':
			case !quoted && r != '"':
				return nil, errors.New("its Exec is not as 'service install' writes it")
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
	}
	if len(words) == 0 {
		return nil, errors.New("it has no Exec")
	}
	return words, nil
}
