package fakeserver

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestListenAgain: what was closed a moment ago may still be held for a moment; what stays taken, or fails for another reason, is an error.
func TestListenAgain(t *testing.T) {
	taken, broken := errors.New("taken"), errors.New("broken")
	isTaken := func(err error) bool { return errors.Is(err, taken) }
	for _, c := range []struct {
		name    string
		answers []error // the last one again and again
		want    error
	}{
		{"free", []error{nil}, nil},
		{"held by a child that is being started", []error{taken, taken, taken, nil}, nil},
		{"taken for good", []error{taken}, taken},
		{"another fault", []error{broken, nil}, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := listenAgain(func() (net.Listener, error) {
					err := c.answers[0]
					if len(c.answers) > 1 {
						c.answers = c.answers[1:]
					}
					return nil, err
				}, isTaken)
				require.ErrorIs(t, err, c.want)
			})
		})
	}
}
