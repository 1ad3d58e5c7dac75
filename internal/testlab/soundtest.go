package testlab

import (
	"context"
	"testing"
	"time"
)

// ForEachSound runs f as a subtest for each kind of sound server. Missing programs fail the test.
func ForEachSound(t *testing.T, f func(t *testing.T, s *SoundServer)) {
	t.Helper()
	for _, kind := range SoundKinds {
		t.Run(string(kind), func(t *testing.T) { f(t, SoundForTest(t, kind)) })
	}
}

// SoundForTest starts a server for the duration of the test. If the test fails, it logs the end of the
// server's output.
func SoundForTest(tb testing.TB, kind SoundKind) *SoundServer {
	tb.Helper()
	if err := SoundAvailable(kind); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := StartSound(ctx, kind)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("the last output of %s:\n%s", kind, s.tail())
		}
	})
	return s
}
