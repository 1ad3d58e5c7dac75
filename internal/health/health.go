// Package health represents what a user may have to know as data: a code, how much it matters, what it is about, and arguments. Code that
// finds something out raises a Condition and writes no sentence. The sentence, and what to do about it, are made where a person reads
// them, by code and language. So status, doctor, the log and the tray all say the same about the same thing.
package health

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Severity is how much a condition matters.
type Severity string

// The severities, the mildest first.
const (
	OK      Severity = "ok"      // in order
	Info    Severity = "info"    // good to know; may explain what the user sees
	Warning Severity = "warning" // may be the reason why the client does not show what it should
	Problem Severity = "problem" // is a reason
)

// Code names a condition for programs: its area, a dot, and what it is. A code never changes its meaning.
type Code string

// Area returns the part of the product that the code is about, such as "clients".
func (c Code) Area() string {
	area, _, _ := strings.Cut(string(c), ".")
	return area
}

// Args are the arguments of a text (texts.Args): data, which each language puts into words.
type Args map[string]string

// Condition is a fact that a user may want to know.
type Condition struct {
	Code     Code        `json:"code"`
	Severity Severity    `json:"severity"`
	Subject  string      `json:"subject,omitempty"` // what it is about: a source, a device, a client
	Args     Args        `json:"args,omitempty"`
	Because  []Condition `json:"because,omitempty"` // what it follows from; their Severity does not matter
}

// Equal reports whether both say the same.
func (c Condition) Equal(other Condition) bool {
	return c.Code == other.Code && c.Severity == other.Severity && c.Subject == other.Subject &&
		maps.Equal(c.Args, other.Args) && slices.EqualFunc(c.Because, other.Because, Condition.Equal)
}

// Same reports whether both say the same, or both are nil.
func Same(a, b *Condition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// Map returns the condition with change applied to everything in it that comes from outside, such as names.
func (c Condition) Map(change func(string) string) Condition {
	args := make(Args, len(c.Args))
	for name, value := range c.Args {
		list := strings.Split(value, "\n") // see texts.List
		for i := range list {
			list[i] = change(list[i])
		}
		args[name] = strings.Join(list, "\n")
	}
	c.Subject, c.Args, c.Because = change(c.Subject), args, slices.Clone(c.Because)
	for i := range c.Because {
		c.Because[i] = c.Because[i].Map(change)
	}
	return c
}

// Explained makes warnings of sentences that have no code.
func Explained(words ...string) (list []Condition) {
	for _, w := range words {
		if w != "" {
			list = append(list, Unnamed(w))
		}
	}
	return list
}

// Error is an ordinary error that is a condition as well.
type Error struct {
	Condition
	Cause error // may be nil
}

// Wrap makes an error of a cause, which becomes the argument "reason" of the code's text; nil: there is no cause.
func Wrap(cause error, code Code, severity Severity, args Args) *Error {
	all := make(Args)
	if cause != nil {
		all["reason"] = cause.Error()
	}
	maps.Copy(all, args)
	return &Error{Condition{Code: code, Severity: severity, Args: all}, cause}
}

// Follow is Wrap with a cause that may be a condition itself: then that is what the error follows from, and says what to do.
func Follow(cause error, code Code, severity Severity, args Args) *Error {
	e := Wrap(cause, code, severity, args)
	if why, is := Of(cause); is {
		e.Because = []Condition{why}
	}
	return e
}

// Error returns the condition in English.
func (e *Error) Error() string { return English.Phrase(e.Condition) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// From returns the condition in err, or one that has only its words.
func From(err error) Condition {
	if c, is := Of(err); is {
		return c
	}
	return Unnamed(err.Error())
}

// Unnamed makes a warning of words that have no code.
func Unnamed(words string) Condition {
	return Condition{Code: Unexplained, Severity: Warning, Args: Args{"reason": words}}
}

// Of returns the condition in err, if there is one.
func Of(err error) (Condition, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Condition, true
	}
	return Condition{}, false
}
