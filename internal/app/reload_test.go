package app

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/health"
)

// TestRefusedReloadIsACondition: who watches hears that new settings were refused, and when they are not any more.
func TestRefusedReloadIsACondition(t *testing.T) {
	set, failure := bareSettings(t), error(nil)
	a := startApp(t, Options{Settings: set, Load: func() (*Settings, error) { return set, failure }})
	refused := func(st control.Status) (found []control.Condition) {
		for _, c := range st.Conditions {
			require.NoError(t, health.English.Check(c.Condition))
			if c.Code == health.ReloadRefused {
				found = append(found, c)
			}
		}
		return found
	}
	st, changed := a.Watch()
	require.Empty(t, refused(st))
	failure = errors.New("acme.yaml:3:5: unknown key")
	require.ErrorIs(t, a.Reload(), failure)
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("nobody who watches has heard of it")
	}
	found := refused(a.Status())
	require.Len(t, found, 1)
	require.Equal(t, "The old settings and catalogue stay in force: acme.yaml:3:5: unknown key.", found[0].Message)
	failure = nil
	_, changed = a.Watch()
	require.NoError(t, a.Reload())
	<-changed
	require.Empty(t, refused(a.Status()))
}
