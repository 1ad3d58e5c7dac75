package testlab

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// ExpectedFailure runs a test of something that is known to be wrong: body says what should be so. The failure of body is logged, and
// the test fails if body does not: then what was wrong is mended, and the mark has to go. what begins with a short name, followed by what
// is wrong in words, as in "V15: the last token goes for a mute".
//
// Only what fails by the t that body gets is expected. body runs in a goroutine of its own, in the same bubble of testing/synctest if there
// is one. What its t cleans up is cleaned up at the end of the whole test.
func ExpectedFailure(t testing.TB, what string, body func(t testing.TB)) {
	t.Helper()
	r := &expectedFailure{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(r)
	}()
	<-done
	switch {
	case r.skipped:
		t.Skip(r.text())
	case r.Failed():
		t.Logf("fails as expected: %s\n%s", what, r.text())
	default:
		t.Errorf("what was expected to fail does not: %s\nIt is mended: remove the mark.", what)
	}
}

// expectedFailure is a testing.TB whose failure is not that of the test.
type expectedFailure struct {
	testing.TB
	mu      sync.Mutex
	said    []string
	failed  bool
	skipped bool
}

func (r *expectedFailure) note(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	text = strings.TrimSpace(text)
	if text != "" {
		r.said = append(r.said, text)
	}
}

func (r *expectedFailure) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

func (r *expectedFailure) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *expectedFailure) Fail() { r.note(true, "") }

func (r *expectedFailure) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *expectedFailure) Error(args ...any) { r.note(true, fmt.Sprintln(args...)) }

func (r *expectedFailure) Errorf(format string, args ...any) {
	r.note(true, fmt.Sprintf(format, args...))
}

func (r *expectedFailure) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *expectedFailure) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *expectedFailure) Skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped
}

func (r *expectedFailure) SkipNow() {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *expectedFailure) Skip(args ...any) {
	r.note(false, fmt.Sprintln(args...))
	r.SkipNow()
}

func (r *expectedFailure) Skipf(format string, args ...any) {
	r.note(false, fmt.Sprintf(format, args...))
	r.SkipNow()
}
