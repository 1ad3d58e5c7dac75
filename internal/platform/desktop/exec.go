package desktop

import "strings"

// escapes are those within quotes of an Exec key; a backslash is escaped once more, as in every string of the file.
var escapes = strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", "$", `\\$`, "%", "%%", "\n", `\n`)

// ExecLine is a command as the Exec key of a desktop entry has it (Desktop Entry Specification, The Exec key).
func ExecLine(command []string) string {
	var words []string
	for _, w := range command {
		words = append(words, `"`+escapes.Replace(w)+`"`)
	}
	return strings.Join(words, " ")
}
