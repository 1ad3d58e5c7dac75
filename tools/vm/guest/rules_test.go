//go:build vmtest

package guest

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/tools/fakehid"
)

// shippedRules is the udev rule of the product, and installedRules where an administrator would put it.
const (
	shippedRules   = "70-sidetone-hid.rules"
	installedRules = "/etc/udev/rules.d/" + shippedRules
)

// installRules does what an installer does. Nothing else in this machine opens hidraw nodes to the user.
func installRules() error {
	for _, command := range [][]string{
		{"install", "-m", "644", shippedRules, installedRules},
		{"udevadm", "control", "--reload"},
		{"udevadm", "trigger", "--settle", "--subsystem-match=hidraw"},
	} {
		if _, err := output("sudo", command...); err != nil {
			return err
		}
	}
	return nil
}

func TestRulesOpenTheVendorsDevicesOnly(t *testing.T) {
	onceIsEnough(t)
	groups, err := os.Getgroups()
	require.NoError(t, err)
	require.Equal(t, []int{os.Getgid()}, groups, "a group that may open devices would make the test worthless")

	run(t, "sudo", "rm", installedRules)
	t.Cleanup(func() {
		if t.Failed() {
			require.NoError(t, installRules())
		}
	})
	run(t, "sudo", "udevadm", "control", "--reload")

	create := func(bus fakehid.Bus, vendor, product uint16) string {
		return createHID(t, fakehid.Options{Bus: bus, Vendor: vendor, Product: product, Descriptor: vendorReports}).path
	}
	cable, bluetooth := create(fakehid.USB, 0x1209, 0x0700), create(fakehid.Bluetooth, 0x1209, 0x0701)
	others := []string{
		create(fakehid.USB, 0x120a, 0x0700),
		create(fakehid.USB, 0x1209, 0x0799),
		create(fakehid.USB, 0x0700, 0x1209),
	}
	for _, path := range append(others, cable, bluetooth) {
		requireDenied(t, path)
	}

	require.NoError(t, installRules())
	requireGranted(t, cable)
	requireGranted(t, bluetooth)
	requireGranted(t, create(fakehid.USB, 0x1209, 0x0730)) // attached after the installation
	requireGranted(t, plug(t, 0, headset()).telephony())
	for _, path := range append(others, create(fakehid.Bluetooth, 0x120a, 0x0701)) {
		requireDenied(t, path)
	}
}

// Lines of getfacl: who owns a node, and the entry that udev and logind make for the user of the active session.
const (
	ownedByRoot = "# owner: root\n# group: root\n"
	userEntry   = "user:tester:rw-\n"
)

func requireGranted(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(devNode(path), os.O_RDWR, 0)
	require.NoError(t, err)
	file.Close()
	acl := acl(t, path)
	require.Contains(t, acl, userEntry)
	require.Contains(t, acl, ownedByRoot, "the entry alone gives access")
}

func requireDenied(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(devNode(path))
	if err == nil {
		file.Close()
	}
	require.ErrorIs(t, err, fs.ErrPermission, path)
	require.NotContains(t, acl(t, path), userEntry)
}

func acl(t *testing.T, path string) string {
	t.Helper()
	return run(t, "getfacl", "--absolute-names", devNode(path))
}
