package testlab

import (
	"context"
	"testing"
	"time"
)

// ForEachSound runs f as a subtest against each kind of sound server. Missing programs fail the
// test with what to install: a test that skips silently protects nothing.
func ForEachSound(t *testing.T, f func(t *testing.T, s *SoundServer)) {
	t.Helper()
	for _, kind := range SoundKinds {
		t.Run(string(kind), func(t *testing.T) { f(t, SoundForTest(t, kind)) })
	}
}

// SoundForTest starts a server that ends with the test. If the test fails, what the server's
// programs printed last is in its log.
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
			tb.Logf("the last words of %s:\n%s", kind, s.log.tail())
		}
	})
	return s
}
