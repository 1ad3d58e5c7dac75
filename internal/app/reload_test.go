package app

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
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

// TestPolicyDecidesTheLogLevel, against who has changed it before, and who would afterwards.
func TestPolicyDecidesTheLogLevel(t *testing.T) {
	set, level := bareSettings(t), new(slog.LevelVar)
	same := *set
	loaded := &same
	a := startApp(t, Options{Settings: set, LogLevel: level, Load: func() (*Settings, error) { return loaded, nil }})
	require.NoError(t, a.SetLogLevel("debug"))
	require.NoError(t, a.Reload())
	require.Equal(t, slog.LevelDebug, level.Level(), "it is not the settings that have changed")

	decided := *set.Config
	decided.Log.Level = config.LogError
	next := *set
	next.Config, next.Origins = &decided, []config.Setting{{Path: "log.level", Layer: config.LayerPolicy, Origin: "/etc/10-all.yaml:2"}}
	loaded = &next
	require.NoError(t, a.Reload())
	require.Equal(t, slog.LevelError, level.Level())
	err := a.SetLogLevel("debug")
	require.ErrorIs(t, err, control.ErrConflict)
	require.ErrorContains(t, err, "log.level at /etc/10-all.yaml:2")
}
