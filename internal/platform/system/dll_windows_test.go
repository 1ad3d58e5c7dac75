package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// plantedEnv makes this test binary a program beside which, or in whose present folder, there is a DLL of that name.
const plantedEnv = "SYSTEM_TEST_PLANTED"

// TestPlantedDLLsAreNotLoaded: a DLL beside a program, or in the folder in which it is started, is found by its name before
// LoadDLLsOfSystemOnly and not after it. What is the system's is found all the same.
func TestPlantedDLLsAreNotLoaded(t *testing.T) {
	if name := os.Getenv(plantedEnv); name != "" {
		found(t, name)
		LoadDLLsOfSystemOnly()
		_, err := windows.LoadLibrary(name)
		require.ErrorIs(t, err, windows.ERROR_MOD_NOT_FOUND)
		found(t, "winmm.dll")
		return
	}
	const name = "sidetone-planted.dll"
	system, err := windows.GetSystemDirectory()
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	beside, present := t.TempDir(), t.TempDir()
	program := filepath.Join(beside, "program.exe")
	copyFile(t, program, self)
	for _, folder := range []string{beside, present} {
		dll := filepath.Join(folder, name)
		copyFile(t, dll, filepath.Join(system, "version.dll"))
		cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
		cmd.Dir, cmd.Env = present, append(os.Environ(), plantedEnv+"="+name)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "planted beside the program or in the present folder: %s\n%s", dll, output)
		require.NoError(t, os.Remove(dll))
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o700))
}

// found loads a DLL, and lets go of it.
func found(t *testing.T, name string) {
	t.Helper()
	dll, err := windows.LoadLibrary(name)
	require.NoError(t, err)
	require.NoError(t, windows.FreeLibrary(dll))
}
