package strictyaml

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// start returns where a token begins. For unquoted text over several lines the library reports the
// end, so the start is counted from the token before it.
func start(tk *token.Token) (line, column int) {
	if tk.Type != token.StringType || !overLines(tk) {
		return position(tk)
	}
	switch before := tk.Prev; {
	case before == nil:
		line, column = 1, 1
	case before.Type == token.CommentType:
		line, column = before.Position.Line+1, 1
	case before.CharacterType == token.CharacterTypeIndicator && before.Indicator != token.QuotedScalarIndicator:
		line, column = before.Position.Line, before.Position.Column+1
	default:
		return position(tk)
	}
	space := tk.Origin[:len(tk.Origin)-len(strings.TrimLeft(tk.Origin, " \n"))]
	if breaks := strings.Count(space, "\n"); breaks > 0 {
		line, column = line+breaks, 1
		space = space[strings.LastIndex(space, "\n")+1:]
	}
	return line, column + len(space)
}

// overLines reports whether the text of tk does not end on its line.
func overLines(tk *token.Token) bool { return strings.Contains(strings.TrimSpace(tk.Origin), "\n") }

const (
	reserved = "text must not begin with this character"
	noKey    = "a key is not allowed here"
	colons   = "check the indentation; put text that contains ': ' in quotes"
)

// checkToken refuses invalid YAML that the library accepts, and valid YAML that is nearly
// always a mistake. before is the token before tk; flow is true inside brackets.
func checkToken(tk, before *token.Token, flow bool) (message, hint string) {
	switch tk.Type {
	case token.MappingValueType:
		return checkColon(tk, before, flow)
	case token.CollectEntryType:
		switch before.Type {
		case token.CollectEntryType, token.SequenceStartType, token.MappingStartType:
			return "a value is missing before ','", ""
		}
	case token.StringType:
		if message, hint := checkPlain(tk, flow); message != "" {
			return message, hint
		}
	}
	if !flow && tk.Position.Line > before.Position.Line {
		return checkIndent(tk, before)
	}
	return "", ""
}

// checkIndent checks the first token of a line. After an empty list entry or key and a comment, the
// library takes whatever comes next for its value.
func checkIndent(tk, before *token.Token) (message, hint string) {
	column := tk.Position.Column
	isKey := tk.Next != nil && tk.Next.Type == token.MappingValueType
	switch {
	case before.Type == token.SequenceEntryType && column <= before.Position.Column:
		return "the list entry before this is empty", "check the indentation"
	case before.Type == token.MappingValueType && !isKey && tk.Type != token.SequenceEntryType &&
		before.Prev != nil && column <= before.Prev.Position.Column:
		return noValue, "check the indentation"
	default:
		return "", ""
	}
}

func checkColon(tk, before *token.Token, flow bool) (message, hint string) {
	after := tk.Next
	switch {
	case before.Position.Line != tk.Position.Line:
		return "want a key before ':'", "a key and its ':' must be on one line"
	case len(before.Value) > maxKey:
		return fmt.Sprintf("a key is longer than %d bytes", maxKey), ""
	case flow && before.Type == token.StringType && after != nil && after.Position.Line == tk.Position.Line &&
		after.Position.Column == tk.Position.Column+1 && !strings.Contains(",]}", after.Value):
		return "a space is needed after ':'", ""
	default:
		return "", ""
	}
}

// checkPlain holds unquoted text to YAML's own rules, and to one line: text that continues on the
// next line is most often a key or a list with wrong indentation.
func checkPlain(tk *token.Token, flow bool) (message, hint string) {
	switch s := tk.Value; {
	case overLines(tk):
		return "unquoted text continues on the next line", "check the indentation, or put the text in quotes"
	case s != "" && strings.ContainsRune(",[]{}#|>%@`", rune(s[0])),
		s == "-", s == "?", strings.HasPrefix(s, "- "), strings.HasPrefix(s, "? "):
		return reserved, inQuotes
	case strings.HasSuffix(s, ":"), strings.Contains(s, ": "):
		return noKey, colons
	case flow && strings.ContainsAny(s, "[]{}"):
		return "unquoted text in brackets must not contain brackets", inQuotes
	default:
		return "", ""
	}
}
