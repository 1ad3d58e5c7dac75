//go:build vmtest

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackage: a deb is installed, upgraded and removed while a user is logged in, with a headset and a client.
func TestPackage(t *testing.T) {
	onceIsEnough(t)
	d := plug(t, 0, headset())
	list := d.asHeadset(false, false)
	expect(t, list...)
	require.NoError(t, stopAgent())
	t.Cleanup(func() { restartAgent(t, exampleCatalogue) })
	expect(t)
	const programs = "/usr/lib/acme-agent" // two versions of which have no room on the machine's disk
	run(t, "sudo", "mkdir", programs)
	run(t, "sudo", "mount", "-t", "tmpfs", "tmpfs", programs)
	settings := filepath.Join(os.Getenv("HOME"), ".config/acme-agent/config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	require.NoError(t, os.WriteFile(settings, []byte("rpc: {origin: \"https://acme.example\", on_exit: leave}\n"), 0o600))
	install := func(version string) {
		run(t, "sudo", "dpkg", "--install", fmt.Sprintf("acme-agent_%s_amd64.deb", version))
	}
	pid := func() string {
		return run(t, "systemctl", "--user", "show", "acme-agent", "--property=MainPID", "--value")
	}
	before := filesAndUnits(t)

	install("1.0.0")
	expect(t, list...)
	run(t, "acme-agent", "push", "acme-headset-700", "noise_suppression=true", "--ttl", "10m")
	unpushed := list[0].NoiseSuppression
	list[0].NoiseSuppression = new(true)
	expect(t, list...)

	first, sent := pid(), payloads()
	install("1.0.1")
	list[0].NoiseSuppression = unpushed // the lease ends with the agent
	expect(t, list...)
	require.Equal(t, first, pid(), "to systemd it is the same process")
	for _, p := range bench.client.Payloads()[sent:] {
		require.Len(t, p.Devices, len(list), "the client was not without the list for a moment")
	}

	run(t, "sudo", "dpkg", "--remove", "acme-agent")
	expect(t)
	run(t, "sudo", "dpkg", "--purge", "acme-agent")
	require.Equal(t, before, filesAndUnits(t))
	require.FileExists(t, settings)
	require.NoError(t, os.RemoveAll(filepath.Dir(settings)))
	run(t, "sudo", "umount", programs)
	run(t, "sudo", "rmdir", programs)
}

// filesAndUnits are those that packages and users bring: not what programs write anew, such as logs.
func filesAndUnits(t *testing.T) []string {
	t.Helper()
	files := run(t, "sudo", "find", "/etc", "/home", "/usr", "/var/lib", "-path", "/home/tester/.local/state", "-prune", "-o", "-print")
	return strings.Split(files+run(t, "systemctl", "--user", "list-unit-files", "--no-legend"), "\n")
}
