package world

import (
	"fmt"
	"time"
)

// Violation is something that must never be.
type Violation struct {
	At   time.Duration `json:"at"`   // since the scenario began
	Rule string        `json:"rule"` // which invariant, for people
	What string        `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%v: %s: %s", v.At, v.Rule, v.What) }
