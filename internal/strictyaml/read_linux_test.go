package strictyaml

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadFileDenied runs as somebody whom file modes bind: root may read every file.
func TestReadFileDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestReadFileDenied$") // the folder of this binary may be root's alone
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	path := filepath.Join(t.TempDir(), "denied.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a: b\n"), 0o000))
	_, err := ReadFile(path)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.EqualError(t, err, "cannot read "+path+": permission denied")
}
