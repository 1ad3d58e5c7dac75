// Package transition has tables that say which state follows from another.
package transition

import "slices"

// A Line says what something in one of the states becomes after an outcome.
type Line[State, Outcome ~string, Then any] struct {
	On   Outcome
	From []State // nil: every state that no line before names for this outcome
	To   State   // "": the state stays
	Then Then    // what else follows
}

// NewLine makes a line without the names of its parts, which a table repeats too often to be read.
func NewLine[S, O ~string, T any](on O, from []S, to S, then T) Line[S, O, T] {
	return Line[S, O, T]{on, from, to, then}
}

// A Table decides by the first line that fits.
type Table[State, Outcome ~string, Then any] []Line[State, Outcome, Then]

// After is the line that fits, with the state that follows. Where none does, which a test of each table rules out, the state stays.
func (t Table[S, O, T]) After(s S, on O) Line[S, O, T] {
	for _, l := range t {
		if l.On == on && (l.From == nil || slices.Contains(l.From, s)) {
			if l.To == "" {
				l.To = s
			}
			return l
		}
	}
	return Line[S, O, T]{On: on, To: s}
}
