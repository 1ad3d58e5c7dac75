package ipc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/local"
)

func addParent(t *testing.T, proc string, pid int, name string, parent int) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "%d (%s) S %d 1 1 0 -1\n", pid, name, parent), 0o644))
}

func TestLineage(t *testing.T) {
	proc := t.TempDir()
	addParent(t, proc, 1, "init", 0)
	addParent(t, proc, 20, "user) S 7 manager", 1)
	addParent(t, proc, 300, "Discord", 20)
	addParent(t, proc, 310, "Discord", 300)
	require.NoError(t, os.Symlink("/opt/Discord/Discord (deleted)", filepath.Join(proc, "310", "exe")))
	require.Equal(t, local.Lineage{Exe: "/opt/Discord/Discord", Parents: []int{300, 20, 1}}, lineageOf(proc, 310))
	require.Equal(t, local.Lineage{Parents: []int{1}}, lineageOf(proc, 20), "another user's executable cannot be read")

	addParent(t, proc, 500, "orphan", 499)
	addParent(t, proc, 600, "circle", 601)
	addParent(t, proc, 601, "circle", 600)
	require.NoError(t, os.WriteFile(filepath.Join(proc, "20", "stat"), []byte("20 (cut) S"), 0o644))
	for _, pid := range []int{0, 310, 500, 600, 4242} {
		require.Nil(t, lineageOf(proc, pid).Parents, pid)
	}
}

func TestLineageOfThisProcess(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := helper(t, "", "listen tcp 127.0.0.1:0")
	start(t, cmd)
	mine, child := in().LineageOf(os.Getpid()), in().LineageOf(cmd.Process.Pid)
	require.Equal(t, exe, mine.Exe)
	require.Equal(t, exe, child.Exe)
	require.Equal(t, append([]int{os.Getpid()}, mine.Parents...), child.Parents)
}
