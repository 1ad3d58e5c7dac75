package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/windows/acl"
)

// volatileKey is a key of the user's registry that exists only in memory: Windows unloads it at the end of the user's last session.
const volatileKey = `Software\Sidetone.UntilLogOff`

// UntilLogOff returns the place for a text of the agent with that state folder that is kept while the user is logged on. Windows keeps
// the key longer if a program of the user or another session goes on, so each log-on has its own value.
func UntilLogOff(_ func(string) string, _, stateFolder, name string) (Text, error) {
	if !filepath.IsAbs(stateFolder) {
		return nil, errors.New("keep until the log-off: the state folder is not known")
	}
	logon, err := acl.LogonOf(windows.GetCurrentProcessToken())
	if err != nil {
		return nil, fmt.Errorf("keep until the log-off: %w", err)
	}
	return valueOf(filepath.Join(stateFolder, name), logon), nil
}

func valueOf(path string, logon uint64) value {
	return value(fmt.Sprintf("%s of log-on %x", path, logon))
}

// value is a value of that key. It is named after the file that it stands for, so that no two agents share one, and after the log-on.
type value string

func (v value) String() string { return fmt.Sprintf(`the value %s of HKCU\%s`, string(v), volatileKey) }

func (v value) Read() ([]byte, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, volatileKey, registry.QUERY_VALUE)
	if err != nil {
		return nil, v.wrap("read", err)
	}
	defer key.Close()
	text, _, err := key.GetStringValue(string(v))
	if err != nil {
		return nil, v.wrap("read", err)
	}
	return []byte(text), nil
}

func (v value) Write(text []byte) error {
	key, err := createVolatile(volatileKey)
	if err == nil {
		err = key.SetStringValue(string(v), string(text))
		_ = key.Close()
	}
	return v.wrap("write", err)
}

func (v value) Remove() error {
	key, err := registry.OpenKey(registry.CURRENT_USER, volatileKey, registry.SET_VALUE)
	if err == nil {
		err = key.DeleteValue(string(v))
		_ = key.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return v.wrap("remove", err)
}

func (v value) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, v, err)
}

var regCreateKeyEx = windows.NewLazySystemDLL("advapi32.dll").NewProc("RegCreateKeyExW")

// createVolatile opens a key of the user, or creates it as a volatile one, which registry.CreateKey cannot do.
func createVolatile(path string) (registry.Key, error) {
	const volatile = 1
	path16, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var key windows.Handle
	code, _, _ := regCreateKeyEx.Call(uintptr(registry.CURRENT_USER), uintptr(unsafe.Pointer(path16)), 0, 0, volatile,
		uintptr(registry.SET_VALUE), 0, uintptr(unsafe.Pointer(&key)), 0)
	if code != 0 {
		return 0, syscall.Errno(code)
	}
	return registry.Key(key), nil
}
