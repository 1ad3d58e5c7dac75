package packagetest

import (
	"bytes"
	"debug/elf"
	"debug/pe"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/systemd"
)

// only is the one package that a pattern fits.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(*built, "dist", pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// unpack unpacks a package into a folder, without running anything of it.
func unpack(t *testing.T, path string) string {
	t.Helper()
	folder := t.TempDir()
	command := `tar -xf "$0" -C "$1"`
	switch filepath.Ext(path) {
	case ".deb":
		command = `dpkg-deb -x "$0" "$1"`
	case ".rpm":
		command = `rpm2cpio "$0" | cpio -idm --quiet --no-absolute-filenames -D "$1"`
	}
	out, err := exec.Command("sh", "-c", command, path, folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return folder
}

// TestForOtherProcessors: packages that this machine cannot run hold programs for the processor that they are named after, which ask for
// nothing that those for this one do not.
func TestForOtherProcessors(t *testing.T) {
	needs(t, "dpkg-deb", "rpm", "rpm2cpio", "cpio", "tar", "zstd")
	for _, want := range []struct {
		deb, other  string // what the formats call the processor
		machine     elf.Machine
		interpreter string
	}{
		{"amd64", "x86_64", elf.EM_X86_64, "/lib64/ld-linux-x86-64.so.2"},
		{"arm64", "aarch64", elf.EM_AARCH64, "/lib/ld-linux-aarch64.so.1"},
	} {
		for _, name := range []string{
			"acme-agent_*_" + want.deb + ".deb", "acme-agent-*." + want.other + ".rpm", "acme-agent-*-" + want.other + ".pkg.tar.zst",
		} {
			if filepath.Ext(name) == ".rpm" {
				said, err := exec.Command("rpm", "-qp", "--requires", "--recommends", only(t, name)).Output()
				require.NoError(t, err)
				require.Subset(t, strings.Fields(string(said)), []string{"libc.so.6(GLIBC_2.34)(64bit)", "libasound.so.2()(64bit)", "/bin/sh"})
			}
			folder := filepath.Join(unpack(t, only(t, name)), "usr/lib/acme-agent")
			agent, err := elf.Open(filepath.Join(folder, "acme-agent"))
			require.NoError(t, err)
			defer agent.Close()
			require.Equal(t, want.machine, agent.Machine, name)
			require.Equal(t, want.interpreter, interpreter(t, agent), name)
			libraries, err := agent.ImportedLibraries()
			require.NoError(t, err)
			for _, library := range libraries {
				require.Regexp(t, `^(libc|libm|libdl|libpthread|ld-linux-.*)\.so\.\d+$`, library, name)
			}
			symbols, err := agent.ImportedSymbols()
			require.NoError(t, err)
			for _, s := range symbols {
				var minor int
				if _, err := fmt.Sscanf(s.Version, "GLIBC_2.%d", &minor); err == nil {
					require.LessOrEqual(t, minor, 34, "%s: %s: the packages say that glibc 2.34 is enough", name, s.Name)
				}
			}
			tray, err := elf.Open(filepath.Join(folder, "acme-agent-tray"))
			require.NoError(t, err)
			defer tray.Close()
			require.Equal(t, want.machine, tray.Machine, name)
			require.Empty(t, interpreter(t, tray), "%s: the tray needs nothing of the system", name)
		}
	}
}

// TestForOtherProcessorsOfWindows: the same of the archives and installers for Windows, where all that a program asks for are libraries
// that every Windows has. What is in the installer is what is in the archive.
func TestForOtherProcessorsOfWindows(t *testing.T) {
	needs(t, "msiextract", "python3")
	for arch, machine := range map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64} {
		archive, installer := t.TempDir(), t.TempDir()
		for _, command := range [][]string{
			{"python3", "-m", "zipfile", "-e", only(t, "acme-agent-*-windows-"+arch+".zip"), archive},
			{"msiextract", "--directory", installer, only(t, "acme-agent-*-"+arch+"-en.msi")},
		} {
			out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		setup, err := exec.Command("msiinfo", "extract", only(t, "acme-agent-*-"+arch+"-en.msi"), "Binary.setup.exe").Output()
		require.NoError(t, err)
		for name, subsystem := range map[string]uint16{
			"acme-agent.exe": pe.IMAGE_SUBSYSTEM_WINDOWS_CUI, "acme-agentw.exe": pe.IMAGE_SUBSYSTEM_WINDOWS_GUI,
			"acme-agent-service.exe": pe.IMAGE_SUBSYSTEM_WINDOWS_GUI, "acme-agent-setup.exe": pe.IMAGE_SUBSYSTEM_WINDOWS_GUI,
		} {
			data := setup // which is in no archive, and not installed
			if name != "acme-agent-setup.exe" {
				data, err = os.ReadFile(oneFileOf(t, archive, name))
				require.NoError(t, err)
				installed, err := os.ReadFile(oneFileOf(t, installer, name))
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, installed), "%s %s", arch, name)
			}
			program, err := pe.NewFile(bytes.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, machine, program.Machine, name)
			require.Equal(t, subsystem, program.OptionalHeader.(*pe.OptionalHeader64).Subsystem, "%s: no console is opened", name)
			symbols, err := program.ImportedSymbols()
			require.NoError(t, err)
			require.NotEmpty(t, symbols)
			for _, s := range symbols {
				require.Regexp(t, `:(?i:kernel32|msvcrt)\.dll$`, s, "%s %s", arch, name)
			}
		}
	}
}

// oneFileOf is the path of the one file of that name in a folder, at any depth.
func oneFileOf(t *testing.T, folder, name string) string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d.Name() == name {
			found = append(found, path)
		}
		return err
	}))
	require.Len(t, found, 1, name)
	return found[0]
}

// interpreter is the program's loader; "": it needs none.
func interpreter(t *testing.T, program *elf.File) string {
	t.Helper()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			text := make([]byte, p.Filesz)
			_, err := p.ReadAt(text, 0)
			require.NoError(t, err)
			return string(bytes.TrimRight(text, "\x00"))
		}
	}
	return ""
}

// TestMeasured: what a package costs, beside one with a single small file. It is printed for docs/packaging.md; only sizes are judged.
func TestMeasured(t *testing.T) {
	needs(t, "dpkg", "rpm", "pacman")
	m := systemd.Boot(t)
	m.Run("root", "rm", "-f", "/var/lib/man-db/auto-update")
	names := map[string]string{
		"deb": "acme-agent_*_amd64.deb", "rpm": "acme-agent-*.x86_64.rpm", "archlinux": "acme-agent-*-x86_64.pkg.tar.zst",
	}
	for _, p := range managers {
		path := only(t, names[p.format])
		installed := sizeOf(t, unpack(t, path))
		require.LessOrEqual(t, installed, int64(25e6), path)
		took := func(path string) time.Duration {
			copyTo(t, m, path)
			start := time.Now()
			m.Run("root", append(p.install, "/share/"+filepath.Base(path))...)
			return time.Since(start)
		}
		ours, bare := took(path), took(oneFile(t, p.format))
		info, err := os.Stat(path)
		require.NoError(t, err)
		t.Logf("%s: %.1f MB, installed %.1f MB, in %.2f s, one file in %.2f s: %.1f times", p.format,
			float64(info.Size())/1e6, float64(installed)/1e6, ours.Seconds(), bare.Seconds(), ours.Seconds()/bare.Seconds())
		m.Run("root", append(p.remove, "acme-agent")...)
	}
}

// TestMeasuredOnWindows is TestMeasured for the installer, under Wine, once Windows Installer has run there.
func TestMeasuredOnWindows(t *testing.T) {
	needs(t, "wixl")
	w := newWine(t)
	took := func(path string) time.Duration {
		start := time.Now()
		out, code := w.run(msiexec, "/qn", "/i", inWine(path))
		require.Zero(t, code, out)
		return time.Since(start)
	}
	took(oneFileMSI(t))
	bare := took(oneFileMSI(t)) // Windows does not know it from the first, since each has a name of its own
	path := only(t, "acme-agent-*-amd64-en.msi")
	ours := took(path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	t.Logf("msi: %.1f MB, installed %.1f MB, in %.2f s, one file in %.2f s: %.1f times", float64(info.Size())/1e6,
		float64(sizeOf(t, w.path("Program Files/acme-agent")))/1e6, ours.Seconds(), bare.Seconds(), ours.Seconds()/bare.Seconds())
}

// oneFileMSI makes an installer with one file and no actions of its own.
func oneFileMSI(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "one.txt"), []byte("one"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "one.wxs"), []byte(`<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
<Product Id="*" Name="One file" Version="1.0.0" Language="1033" Manufacturer="Test" UpgradeCode="1B2F6C0E-5D0B-4B0E-9C55-3B7B8C1C2A10">
<Package InstallScope="perMachine" Compressed="yes"/><Media Id="1" Cabinet="one.cab" EmbedCab="yes"/>
<Directory Id="TARGETDIR" Name="SourceDir"><Directory Id="ProgramFiles64Folder"><Directory Id="INSTALLDIR" Name="onefile">
<Component Id="One" Guid="2B2F6C0E-5D0B-4B0E-9C55-3B7B8C1C2A10"><File Id="one" Source="one.txt" KeyPath="yes"/></Component>
</Directory></Directory></Directory><Feature Id="All" Level="1"><ComponentRef Id="One"/></Feature></Product></Wix>`), 0o600))
	cmd := exec.Command("wixl", "--arch", "x64", "--output", "one.msi", "one.wxs")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(folder, "one.msi")
}

// sizeOf is what the files in a folder have together.
func sizeOf(t *testing.T, folder string) (size int64) {
	t.Helper()
	require.NoError(t, filepath.Walk(folder, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	}))
	return size
}

// oneFile makes a package with one file and no scripts.
func oneFile(t *testing.T, format string) string {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	config, err := json.Marshal(map[string]any{
		"name": "onefile", "arch": "amd64", "version": "1.0.0", "release": "1", "maintainer": "Test <test@acme.example>",
		"description": "One file.",
		"contents":    []map[string]string{{"src": file, "dst": "/usr/share/onefile." + format}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "nfpm.yaml"), config, 0o600))
	target := filepath.Join(folder, "onefile."+strings.Replace(format, "archlinux", "pkg.tar.zst", 1))
	out, err := exec.Command(filepath.Join(*built, "tools/nfpm"), "package", "--config", filepath.Join(folder, "nfpm.yaml"),
		"--packager", format, "--target", target).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return target
}

// TestNothingOfTheSystemHasAConsole: on the desktop of a user, who could start a browser from its window's menu as the system.
func TestNothingOfTheSystemHasAConsole(t *testing.T) {
	needs(t, "msiinfo")
	found, err := filepath.Glob(filepath.Join(*built, "dist", "*.msi"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, path := range found {
		actions, err := exec.Command("msiinfo", "export", path, "CustomAction").Output()
		require.NoError(t, err)
		const setsAProperty = 51
		for _, line := range strings.Split(strings.TrimSpace(string(actions)), "\r\n")[3:] {
			fields := strings.Split(line, "\t")
			kind, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			if kind&0x3f == setsAProperty {
				continue
			}
			data, err := exec.Command("msiinfo", "extract", path, "Binary."+fields[2]).Output()
			require.NoError(t, err)
			program, err := pe.NewFile(bytes.NewReader(data))
			require.NoError(t, err, line)
			require.EqualValues(t, pe.IMAGE_SUBSYSTEM_WINDOWS_GUI, program.OptionalHeader.(*pe.OptionalHeader64).Subsystem, line)
		}
	}
}
