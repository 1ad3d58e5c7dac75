package signal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotificationsAreOne(t *testing.T) {
	s := New()
	require.Empty(t, s)
	s.Notify()
	s.Notify()
	<-s
	require.Empty(t, s)
}

func TestClear(t *testing.T) {
	s := New()
	s.Clear() // does not wait
	s.Notify()
	s.Clear()
	require.Empty(t, s)
}
