package testlab

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// judged keeps what ExpectedFailure says of a body.
type judged struct {
	testing.TB
	said   string
	failed bool
}

func (j *judged) Errorf(format string, args ...any) {
	j.failed, j.said = true, fmt.Sprintf(format, args...)
}

func (j *judged) Logf(format string, args ...any) { j.said = fmt.Sprintf(format, args...) }

func TestWhatIsExpectedToFailHasTo(t *testing.T) {
	after := false
	fail := map[string]func(t testing.TB){
		"require":  func(t testing.TB) { require.Equal(t, 1, 2, "why"); after = true },
		"Errorf":   func(t testing.TB) { t.Errorf("%s", "why") },
		"Error":    func(t testing.TB) { t.Error("why") },
		"Fatal":    func(t testing.TB) { t.Fatal("why"); after = true },
		"Fatalf":   func(t testing.TB) { t.Fatalf("%s", "why"); after = true },
		"FailNow":  func(t testing.TB) { t.Error("why"); t.FailNow(); after = true },
		"an error": func(t testing.TB) { require.NoError(t, fmt.Errorf("why")); after = true },
	}
	for name, body := range fail {
		t.Run(name, func(t *testing.T) {
			j := &judged{TB: t}
			ExpectedFailure(j, "X1: words", body)
			require.False(t, j.failed)
			require.Contains(t, j.said, "X1: words")
			require.Contains(t, j.said, "why")
			require.False(t, after, "the body ends where it fails")
		})
	}
	j := &judged{TB: t}
	ExpectedFailure(j, "X1: words", func(t testing.TB) { require.False(t, t.Failed()) })
	require.True(t, j.failed)
	require.Contains(t, j.said, "remove the mark")
}

func TestAnExpectedFailureInVirtualTime(t *testing.T) {
	cleanedUp := false
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ExpectedFailure(t, "X1: an hour is long", func(t testing.TB) {
			t.Cleanup(func() { cleanedUp = true })
			time.Sleep(time.Hour)
			require.Less(t, time.Since(start), time.Hour)
		})
		require.Equal(t, time.Hour, time.Since(start))
		require.False(t, cleanedUp, "as late as those of the test")
	})
	require.True(t, cleanedUp)
}

func TestWhatIsExpectedToFailMayBeSkipped(t *testing.T) {
	skipped := false
	t.Run("inner", func(t *testing.T) {
		ExpectedFailure(skipOnly{t, &skipped}, "X1: words", func(t testing.TB) { t.Skipf("%s", "not here") })
	})
	require.True(t, skipped)
}

// skipOnly notes that a test would be skipped, and does not skip it.
type skipOnly struct {
	testing.TB
	skipped *bool
}

func (s skipOnly) Skip(...any) { *s.skipped = true }
