package platformtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const namespaceEnv = "SIDETONE_TEST_NAMESPACE"

// InUserNamespace runs f, as the calling test, in another process with a user namespace of its own: limits that SetUserLimit sets there
// affect nobody else.
func InUserNamespace(t *testing.T, f func()) {
	t.Helper()
	if os.Getenv(namespaceEnv) != "" {
		f()
		return
	}
	cmd := exec.CommandContext(Deadline(t), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), namespaceEnv+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this machine has no user namespaces: %v", err)
	}
	require.NoError(t, err, "%s", out)
}

// SetUserLimit sets a limit in /proc/sys/user.
func SetUserLimit(t *testing.T, name string, value int) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join("/proc/sys/user", name), []byte(strconv.Itoa(value)), 0o644))
}
