// Package transition has tables of state transitions.
package transition

import "slices"

// A Line is a transition: the state that follows from some states after an outcome.
type Line[State, Outcome ~string, Then any] struct {
	On   Outcome
	From []State // nil: all states that earlier lines with this outcome do not name
	To   State   // "": the state stays the same
	Then Then    // what else follows
}

// NewLine returns a Line. Without the names of its fields a table is easier to read.
func NewLine[S, O ~string, T any](on O, from []S, to S, then T) Line[S, O, T] {
	return Line[S, O, T]{on, from, to, then}
}

// Table says which state follows from another. The first matching line applies.
type Table[State, Outcome ~string, Then any] []Line[State, Outcome, Then]

// After returns the line that applies, with To filled in. Without one, which a test of each table rules out, the state stays the same.
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
