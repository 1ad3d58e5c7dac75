package acl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// TestWhoMayChangeAFile: access lists as Windows has them by default, and such as open a way to the system's rights.
func TestWhoMayChangeAFile(t *testing.T) {
	const (
		programFiles = "D:PAI(A;;FA;;;S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)(A;OICIIO;GA;;;CO)" +
			"(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;AC)"
		root = "D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)"
	)
	for name, c := range map[string]struct {
		sddl           string
		program, above string // why not; "": nothing against it
	}{
		"program files":      {"O:BA" + programFiles, "", ""},
		"the root of a disk": {"O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464" + root, "S-1-5-11, who is none", ""},
		"a user's own":       {"O:S-1-5-21-1-2-3-1001D:(A;;FA;;;BA)", "belongs to user S-1-5-21-1-2-3-1001", "belongs to user"},
		"everybody's":        {"O:BAD:(A;;FA;;;WD)", "S-1-1-0", "S-1-1-0"},
		"may be deleted":     {"O:SYD:(A;;SD;;;AU)", "S-1-5-11", "S-1-5-11"},
		"children may be":    {"O:SYD:(A;;0x40;;;AU)", "S-1-5-11", "S-1-5-11"},
		"its list changed":   {"O:SYD:(A;;WD;;;BU)", "S-1-5-32-545", "S-1-5-32-545"},
		"taken possession":   {"O:SYD:(A;;WO;;;BU)", "S-1-5-32-545", "S-1-5-32-545"},
		"all, generically":   {"O:SYD:(A;;GA;;;IU)", "S-1-5-4", "S-1-5-4"},
		"a DLL put there":    {"O:SYD:(A;;FW;;;BU)", "S-1-5-32-545", ""},
		"one user refused":   {"O:SYD:(D;;FA;;;BU)(A;;FR;;;WD)", "", ""},
		"for what is in it":  {"O:SYD:(A;OICIIO;FA;;;BU)", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sd, err := windows.SecurityDescriptorFromString(c.sddl)
			require.NoError(t, err)
			for _, level := range []struct {
				allowed windows.ACCESS_MASK
				why     string
			}{{reading, c.program}, {making, c.above}} {
				if err := onlyAdministrators(sd, level.allowed); level.why != "" {
					require.ErrorContains(t, err, level.why)
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}

func TestWithoutAnAccessList(t *testing.T) {
	sd, err := windows.NewSecurityDescriptor()
	require.NoError(t, err)
	require.ErrorContains(t, onlyAdministrators(sd, making), "belongs to nobody")
	system, err := windows.StringToSid(localSystem)
	require.NoError(t, err)
	require.NoError(t, sd.SetOwner(system, false))
	require.ErrorContains(t, onlyAdministrators(sd, making), "everybody may change it")
	require.NoError(t, sd.SetDACL(nil, true, false))
	require.ErrorContains(t, onlyAdministrators(sd, making), "everybody may change it")
}

func TestProgramOfAUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program.exe")
	require.NoError(t, os.WriteFile(file, nil, 0o700))
	require.Error(t, OnlyAdministratorsCanChange(file))
	for _, place := range []string{`program.exe`, `\\server\share\program.exe`, `\\?\C:\program.exe`, `C:program.exe`} {
		require.ErrorContains(t, OnlyAdministratorsCanChange(place), "is not on a disk of this machine")
	}
}

// TestProgramOnASubstitutedDrive: what such a letter stands for can be changed without a right to the folder.
func TestProgramOnASubstitutedDrive(t *testing.T) {
	require.NoError(t, isDisk("C:"))
	folder := t.TempDir()
	drive, err := windows.UTF16PtrFromString("Q:")
	require.NoError(t, err)
	for target, c := range map[string]struct {
		flags uint32
		why   string
	}{
		folder:                    {0, "its drive is really " + folder + ": name it so"},
		deviceOf("C:") + `\Users`: {windows.DDD_RAW_TARGET_PATH, "which is no disk"},
	} {
		path, err := windows.UTF16PtrFromString(target)
		require.NoError(t, err)
		require.NoError(t, windows.DefineDosDevice(c.flags, drive, path), target)
		assert.ErrorContains(t, isDisk("Q:"), c.why)
		require.NoError(t, windows.DefineDosDevice(windows.DDD_REMOVE_DEFINITION, drive, nil))
	}
	require.ErrorContains(t, isDisk("Q:"), "something unknown")
}
