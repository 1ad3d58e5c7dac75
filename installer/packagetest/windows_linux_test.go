package packagetest

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wine is a Wine of the test's own, which sees this machine's files.
type wine struct {
	t   *testing.T
	env []string
}

func newWine(t *testing.T) wine {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "prefix")
	w := wine{t, append(os.Environ(), "WINEPREFIX="+prefix)}
	w.call("prefix", prefix)
	t.Cleanup(func() { w.call("end") })
	return w
}

func (w wine) call(args ...string) {
	w.t.Helper()
	out, code := w.output(args...)
	require.Zero(w.t, code, "%s", out)
}

func (w wine) output(args ...string) (out string, code int) {
	w.t.Helper()
	cmd := exec.Command("../../tools/windows/wine.sh", args...)
	cmd.Env = w.env
	said, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(w.t, err, new(*exec.ExitError))
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// run runs a program of Windows.
func (w wine) run(program string, args ...string) (out string, code int) {
	w.t.Helper()
	return w.output(append([]string{"run", program}, args...)...)
}

// TestPortableOfWindows: an archive that was unpacked in part is whole when it is unpacked again, and its agent is the vendor's.
func TestPortableOfWindows(t *testing.T) {
	needs(t, "python3")
	found, err := filepath.Glob(filepath.Join(*built, "dist", "acme-agent-*-windows-amd64.zip"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	folder := t.TempDir()
	unpack := func() *exec.Cmd { return exec.Command("python3", "-m", "zipfile", "-e", found[0], folder) }
	archive, err := zip.OpenReader(found[0])
	require.NoError(t, err)
	defer archive.Close()
	for i := range 10 {
		cmd := unpack()
		require.NoError(t, cmd.Start())
		killed := time.AfterFunc(time.Duration(i)*50*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killed.Stop()
		require.NoError(t, unpack().Run())
		for _, f := range archive.File {
			want, err := f.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(want)
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(folder, f.Name))
			require.NoError(t, err)
			require.Equal(t, string(data), string(got), f.Name)
		}
	}
	agents, err := filepath.Glob(filepath.Join(folder, "*", "acme-agent.exe"))
	require.NoError(t, err)
	require.Len(t, agents, 1)
	w := newWine(t)
	out, code := w.run(agents[0], "config", "show")
	require.Zero(t, code, out)
	require.Contains(t, out, strings.ReplaceAll(filepath.Join(filepath.Dir(agents[0]), "catalogue"), "/", `\`))
	out, code = w.run(agents[0], "version")
	require.Zero(t, code, out)
	require.Contains(t, out, "acme-agent ")
}
