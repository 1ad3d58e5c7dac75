package asynclog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// sink keeps lines, takes none while it is stuck, and fails while it is full.
type sink struct {
	mu    sync.Mutex
	lines []string
	stuck chan struct{} // closed: it takes lines again
	full  bool
}

func (s *sink) Write(line []byte) (int, error) {
	if s.stuck != nil {
		<-s.stuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return 0, errors.New("no space left on device")
	}
	s.lines = append(s.lines, string(line))
	return len(line), nil
}

func text(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

// TestLinesAreWrittenInOrder, and are all written after Flush.
func TestLinesAreWrittenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		h := NewHandler(out, text)
		require.True(t, h.Flush(0), "nothing was logged")
		log := slog.New(h).With("a", 1)
		var want []string
		for i := range 1000 {
			log.WithGroup("g").Info("said", "i", i)
			want = append(want, fmt.Sprintf("level=INFO msg=said a=1 g.i=%d\n", i))
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		require.True(t, h.Flush(time.Second))
		require.Equal(t, want, out.lines)
		require.Nil(t, h.waiting)
	})
}

// TestNobodyWaitsForASinkThatTakesNothing: the newest lines are kept, and the rest is counted.
func TestNobodyWaitsForASinkThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{stuck: make(chan struct{})}
		h := NewHandler(out, text)
		log := slog.New(h)
		log.Info("the first") // which is being written all the while
		synctest.Wait()
		const lines = 10_000
		for i := range lines {
			log.Info("said", "i", i, "much", strings.Repeat("x", 100))
		}
		began := time.Now()
		require.False(t, h.Flush(time.Second))
		require.Equal(t, time.Second, time.Since(began))
		require.LessOrEqual(t, h.size, maxWaiting)
		close(out.stuck)
		synctest.Wait()
		kept := len(out.lines) - 2
		require.Greater(t, kept*100, maxWaiting/2)
		require.Equal(t, "level=INFO msg=\"the first\"\n", out.lines[0])
		require.Equal(t, fmt.Sprintf(
			"level=WARN msg=\"%d log lines were dropped\" reason=\"what shows or keeps this log took none for a while\"\n", lines-kept,
		), out.lines[1])
		require.Contains(t, out.lines[2], fmt.Sprintf("i=%d ", lines-kept))
		require.Contains(t, out.lines[len(out.lines)-1], fmt.Sprintf("i=%d ", lines-1))
		log.Info("the last")
		synctest.Wait()
		require.Equal(t, "level=INFO msg=\"the last\"\n", out.lines[len(out.lines)-1], "they are counted once")
	})
}

// TestLinesThatCannotBeWrittenAreCounted, as on a disk that is full.
func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{full: true}
		log := slog.New(NewHandler(out, text))
		for range 3 {
			log.Info("lost")
			synctest.Wait()
		}
		out.full = false
		log.Info("kept")
		synctest.Wait()
		require.Len(t, out.lines, 2)
		require.Contains(t, out.lines[0], "3 log lines were dropped")
		require.Contains(t, out.lines[1], "kept")
	})
}

// TestALineThatIsTooLong is dropped like one too many.
func TestALineThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		log := slog.New(NewHandler(out, text))
		log.Info(strings.Repeat("x", maxWaiting))
		log.Info("short")
		synctest.Wait()
		require.Len(t, out.lines, 2)
		require.Contains(t, out.lines[0], "1 log lines were dropped")
	})
}

// TestARecordIsReadAtOnce: what it is about may change before the line is written.
func TestARecordIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{stuck: make(chan struct{})}
		about := bytes.NewBufferString("before")
		slog.New(NewHandler(out, text)).Info("said", "about", about)
		about.Reset()
		about.WriteString("after")
		close(out.stuck)
		synctest.Wait()
		require.Equal(t, []string{"level=INFO msg=said about=before\n"}, out.lines)
	})
}
