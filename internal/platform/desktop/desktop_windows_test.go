package desktop

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/testlab"
)

// shownEnv names the file in which a program that is started to show one says which.
const shownEnv = "SIDETONE_TEST_SHOWN"

func TestMain(m *testing.M) {
	if note := os.Getenv(shownEnv); note != "" && len(os.Args) == 3 && os.Args[1] == "show" {
		if err := os.WriteFile(note+".new", []byte(os.Args[2]), 0o600); err == nil {
			err = os.Rename(note+".new", note)
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestOpen: the program that is registered for a kind of file gets it, whatever is in its name. What nobody shows is an error, and no window.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	note := filepath.Join(folder, "shown")
	t.Setenv(shownEnv, note)
	set := func(path, value string) {
		key, _, err := registry.CreateKey(registry.CLASSES_ROOT, path, registry.SET_VALUE)
		require.NoError(t, err)
		defer key.Close()
		require.NoError(t, key.SetStringValue("", value))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	set(".sidetonetest", "sidetonetest")
	set(`sidetonetest\shell\open\command`, `"`+self+`" show "%1"`)
	t.Cleanup(func() {
		for _, path := range []string{`sidetonetest\shell\open\command`, `sidetonetest\shell\open`, `sidetonetest\shell`, "sidetonetest", ".sidetonetest"} {
			require.NoError(t, registry.DeleteKey(registry.CLASSES_ROOT, path))
		}
	})
	path := filepath.Join(folder, "a page's 100% name.sidetonetest")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, Desktop{}.Open(path, nil))
	testlab.Eventually(t, "it is shown", func() bool {
		shown, _ := os.ReadFile(note)
		return string(shown) == path
	})
	require.ErrorContains(t, Desktop{}.Open(filepath.Join(folder, "none.sidetonetest"), nil), "open it yourself")
}

func TestSave(t *testing.T) {
	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	require.NoError(t, err)
	const name = "sidetone-test.html"
	t.Cleanup(func() { _ = os.Remove(filepath.Join(folder, name)) })
	for _, content := range []string{"x", "y"} {
		path, err := Desktop{}.Save(name, []byte(content))
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, name), path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(data))
	}
}

func TestCopy(t *testing.T) {
	for _, text := range []string{"", "two\nlines", "Kopfhörer سماعة 😀", strings.Repeat("x", 1<<20)} {
		require.NoError(t, Desktop{}.Copy(t.Context(), []byte(text)))
		require.Equal(t, strings.ReplaceAll(text, "\n", "\r\n"), pasted(t))
	}
	require.Error(t, Desktop{}.Copy(t.Context(), []byte("a\x00b")), "what cannot be pasted whole")
}

// TestCopyWaitsItsTurn: while another program has the clipboard it is waited for, and not for ever.
func TestCopyWaitsItsTurn(t *testing.T) {
	require.NoError(t, Desktop{}.Copy(t.Context(), []byte("before")))
	held, release, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(released)
		runtime.LockOSThread()
		window, _, _ := user32.NewProc("GetDesktopWindow").Call()
		_, _, _ = openClipboard.Call(window)
		close(held)
		<-release
		_, _, _ = closeClipboard.Call()
	}()
	<-held
	require.ErrorContains(t, Desktop{}.Copy(t.Context(), []byte("after")), "which another program has")
	close(release)
	<-released
	require.Equal(t, "before", pasted(t))
}

// pasted is the text in the clipboard.
func pasted(t *testing.T) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, takeClipboard(t.Context()))
	defer closeClipboard.Call()
	memory, _, err := user32.NewProc("GetClipboardData").Call(unicodeText)
	require.NotZero(t, memory, err)
	place, _, err := globalLock.Call(memory)
	require.NotZero(t, place, err)
	defer globalUnlock.Call(memory)
	return windows.UTF16PtrToString(*(**uint16)(unsafe.Pointer(&place)))
}
