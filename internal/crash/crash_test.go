package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crashed is a run that has said so, at a time.
func crashed(t *testing.T, folder, said string, at time.Time) {
	t.Helper()
	path := filepath.Join(folder, output)
	require.NoError(t, os.WriteFile(path, []byte(said), 0o600))
	require.NoError(t, os.Chtimes(path, at, at))
}

func open(t *testing.T, folder string) *Guard {
	t.Helper()
	g, err := Open(folder, "sidetone 1.0", 0)
	require.NoError(t, err)
	t.Cleanup(func() { forget(g) })
	return g
}

// forget closes what the end of a process would close: what is open cannot be removed on Windows.
func forget(g *Guard) {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = g.file.Close()
}

func TestLoop(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	now := time.Now()
	g := open(t, folder)
	require.False(t, g.Looping(now))
	for n, ago := range []time.Duration{61 * time.Second, 30 * time.Second, 20 * time.Second, 10 * time.Second} {
		crashed(t, folder, "fatal error: x\n\ngoroutine 1 [running]:\n", now.Add(-ago))
		g = open(t, folder)
		require.Equal(t, n == 3, g.Looping(now), "%v", g.Reports())
	}
	require.False(t, g.Looping(now.Add(time.Minute)), "a later start is an ordinary one")
	require.False(t, g.Looping(now.Add(-time.Hour)), "the clock was set back")
	g.Close()
	g = open(t, folder)
	require.Len(t, g.Reports(), 4)
	g.Close()
	for n := range 2 * kept {
		crashed(t, folder, "fatal error: x\n", now.Add(time.Duration(n)*time.Hour))
		open(t, folder).Close()
	}
	require.Len(t, open(t, folder).Reports(), kept, "the oldest go")
}

// TestLoopOfAClockThatWasSetBack: reports of a clock that was ahead, or that had forgotten the year, do not push away those of now.
func TestLoopOfAClockThatWasSetBack(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	for n := range kept {
		for _, wrong := range []time.Time{now.Add(time.Duration(n+1) * 24 * time.Hour), time.Unix(int64(n), 0)} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("crash-%d.txt", wrong.UnixMilli())), nil, 0o600))
		}
	}
	other := filepath.Join(folder, "1000.txt")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for n := range Limit {
		require.False(t, open(t, folder).Looping(now))
		crashed(t, folder, "fatal error: x\n", now.Add(time.Duration(n-Limit)*time.Second))
	}
	g := open(t, folder)
	require.True(t, g.Looping(now))
	require.Len(t, g.Reports(), kept)
	require.FileExists(t, other, "it is no report")
}

// TestNoCrash: an orderly end, a kill, and a dump that somebody asked for are none.
func TestNoCrash(t *testing.T) {
	folder := t.TempDir()
	open(t, folder).Close()
	open(t, folder) // killed
	crashed(t, folder, "SIGQUIT: quit\nPC=0x47\n\ngoroutine 1 [running]:\n", time.Now())
	require.Empty(t, open(t, folder).Reports())
}

func TestReportNamesNobody(t *testing.T) {
	folder := t.TempDir()
	before := open(t, folder)
	before.Note([]string{"sources.unreadable"})
	words := "panic: cannot read Anna's Headset\nof /home/anna\n\ngoroutine 7 [running]:\nmain.main()\n"
	crashed(t, folder, words+strings.Repeat("x", maxBytes), time.Now())
	g := open(t, folder)
	all := g.Reports()
	require.Len(t, all, 1)
	require.NotContains(t, all[0].Text, "nna")
	require.Contains(t, all[0].Text,
		"sidetone 1.0\nconditions: sources.unreadable\npanic: (its words are left out)\ngoroutine 7 [running]:\nmain.main()\n")
	require.Len(t, all[0].Text, maxBytes)
	info, err := os.Stat(filepath.Join(folder, all[0].Name))
	require.NoError(t, err)
	if runtime.GOOS != "windows" { // where files have no modes, and the user's folders are the user's alone
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}

	_, err = Open(filepath.Join(folder, all[0].Name, "below"), "", 0)
	require.ErrorContains(t, err, "keep crash reports")
	require.Zero(t, timeOf(fmt.Sprint(output)))

	forget(before)
	g.Close()
	require.NoFileExists(t, filepath.Join(folder, output))
	require.NoError(t, os.Mkdir(filepath.Join(folder, output), 0o700))
	_, err = Open(folder, "", 0)
	require.ErrorContains(t, err, "is no regular file: remove it")
}

// TestCrashOfWhichOnlyTheCodeIsKnown counts like others, and was when the next agent starts, not when the one that crashed did: it has
// written nothing since. An agent that has left words is not reported twice.
func TestCrashOfWhichOnlyTheCodeIsKnown(t *testing.T) {
	folder := t.TempDir()
	for n := range Limit {
		g, err := Open(folder, "sidetone 1.0", 0xc0000005)
		require.NoError(t, err)
		forget(g)
		require.Len(t, g.Reports(), n+1)
		require.WithinDuration(t, time.Now(), timeOf(g.reports[0]), time.Hour)
		started := time.Now().Add(-8 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(folder, output), started, started))
		time.Sleep(2 * time.Millisecond) // a report is named after the time
	}
	crashed(t, folder, "fatal error: x\n", time.Now())
	g, err := Open(folder, "sidetone 1.0", 0xc0000005)
	require.NoError(t, err)
	t.Cleanup(func() { forget(g) })
	require.True(t, g.Looping(time.Now()))
	all := g.Reports()
	require.Len(t, all, Limit+1)
	require.Contains(t, all[0].Text, "Exception 0xc0000005, of which nothing else is known")
	require.NotContains(t, all[Limit].Text, "Exception")
}

// TestCrashAfterAnEndInOrder counts, too: what was left to do at the end may fail, or this was no end, as where a hand-over has failed.
func TestCrashAfterAnEndInOrder(t *testing.T) {
	folder := t.TempDir()
	open(t, folder).Close()
	g, err := Open(folder, "sidetone 1.0", 0xc0000409)
	require.NoError(t, err)
	t.Cleanup(func() { forget(g) })
	require.Len(t, g.Reports(), 1)
	info, err := os.Stat(filepath.Join(folder, output))
	require.NoError(t, err)
	require.EqualValues(t, maxBytes, info.Size(), "what was reserved is there again")
}
