// Package soundlabtest starts private sound servers in tests and benchmarks.
package soundlabtest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"sidetone/internal/soundlab"
)

const limit = time.Minute

// ForEach runs f as a subtest against each kind of sound server. Missing programs fail the
// test with what to install: a test that skips silently protects nothing.
func ForEach(t *testing.T, f func(t *testing.T, s *soundlab.Server)) {
	t.Helper()
	for _, kind := range soundlab.Kinds {
		t.Run(string(kind), func(t *testing.T) { f(t, Start(t, kind)) })
	}
}

// Start starts a server that ends with the test. If the test fails, what the server's
// programs printed is in its log.
func Start(tb testing.TB, kind soundlab.Kind) *soundlab.Server {
	tb.Helper()
	if err := soundlab.Available(kind); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var log buffer
	s, err := soundlab.Start(ctx, soundlab.Options{Kind: kind, Log: &log})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if text := log.String(); tb.Failed() && text != "" {
			tb.Logf("%s printed:\n%s", kind, text)
		}
	})
	return s
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
