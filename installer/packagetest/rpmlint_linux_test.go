package packagetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rpmlint unpacks packages by cpio, to where the names in them say: to /usr, were they not made relative and this another user, for whom
// the machine's files are read-only.
const rpmlint = `set -e
mount -t tmpfs -o mode=0755 tmpfs /mnt
cp "$1" "$2" /mnt/
mkdir /mnt/bin
printf '#!/bin/sh\nexec /usr/bin/cpio --no-absolute-filenames "$@"\n' >/mnt/bin/cpio
chmod 755 /mnt/bin/cpio
chmod 644 /mnt/*.rpm /mnt/*.toml
mount -o remount,bind,ro /
mount -t tmpfs -o mode=1777 tmpfs /tmp
cd /mnt
PATH=/mnt/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
	rpmlint --config /mnt/rpmlint.toml /mnt/*.rpm`

// TestRPMLint: what there is to find has a reason in testdata/rpmlint.toml.
func TestRPMLint(t *testing.T) {
	needs(t, "rpmlint", "cpio", "unshare", "setpriv")
	if os.Geteuid() != 0 {
		t.Skip("it takes root to keep rpmlint from this machine's files")
	}
	config, err := filepath.Abs("testdata/rpmlint.toml")
	require.NoError(t, err)
	out, err := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", rpmlint, "sh",
		only(t, "acme-agent-*.x86_64.rpm"), config).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "0 errors, 0 warnings")
}
