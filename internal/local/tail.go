package local

import "strings"

// Tail keeps the end of a program's output. It accepts everything: otherwise the program would block.
type Tail struct{ text []byte }

const maxTail = 4 << 10

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// LastLine returns the last line that is not empty.
func (t *Tail) LastLine() string {
	text := strings.TrimSpace(string(t.text))
	return text[strings.LastIndex(text, "\n")+1:]
}
