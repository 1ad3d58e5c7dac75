package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
)

func TestAnswerToAPush(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 3, 1, 9, 31, 0, 0, time.Local)
	for want, a := range map[string]control.PushAnswer{
		"in force with generation 8; 1 client has it already":                                           {Generation: 8, Units: 1, Clients: 1},
		"in force with generation 8; 2 clients have it already; it ends at 09:31:00":                    {Generation: 8, Units: 1, Clients: 2, Until: until},
		"not kept: the product has just left, or is switched off; push again when it is back":           {Left: true},
		"kept: the product is not plugged in":                                                           {Generation: 8, Until: until},
		`kept: no such product with the serial number "ZZ" is plugged in; other serial numbers: A1, B2`: {OtherSerials: []string{"A1", "B2"}},
	} {
		require.Equal(t, want, answerWords(a, "ZZ"))
	}
}
