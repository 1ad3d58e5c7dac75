package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/windows/acl"
)

// PolicyValues returns the administrator's policy by the path of the setting, and the key that holds it: one below HKEY_LOCAL_MACHINE,
// where only administrators write. There may be none.
func PolicyValues(path string) (key string, values map[string]string, err error) {
	return policyAt(registry.LOCAL_MACHINE, `HKLM\`, path)
}

func policyAt(root registry.Key, rootName, path string) (key string, values map[string]string, err error) {
	key = rootName + path
	k, err := registry.OpenKey(root, path, registry.QUERY_VALUE)
	if errors.Is(err, fs.ErrNotExist) {
		return key, nil, nil
	}
	if err != nil {
		return key, nil, fmt.Errorf("cannot read %s: %w", key, err)
	}
	defer k.Close()
	names, err := k.ReadValueNames(0)
	if err != nil {
		return key, nil, fmt.Errorf("cannot read %s: %w", key, err)
	}
	values = make(map[string]string)
	for _, name := range names {
		if values[name], err = policyText(k, name); err != nil {
			return key, nil, fmt.Errorf(`cannot read %s\%s: %w`, key, name, err)
		}
	}
	return key, values, nil
}

// policyText returns a value as an environment variable would contain it.
func policyText(k registry.Key, name string) (string, error) {
	_, kind, err := k.GetValue(name, nil)
	if err != nil {
		return "", err
	}
	switch kind {
	case registry.SZ:
		text, _, err := k.GetStringValue(name)
		return text, err
	case registry.MULTI_SZ:
		list, _, err := k.GetStringsValue(name)
		return strings.Join(list, ","), err
	case registry.DWORD, registry.QWORD:
		number, _, err := k.GetIntegerValue(name)
		return fmt.Sprint(number), err
	}
	return "", fmt.Errorf("type %d of the registry is none of REG_SZ, REG_MULTI_SZ, REG_DWORD and REG_QWORD", kind)
}

// CheckSystemSettings returns why the administrator's settings at path are ignored; nil if they count or there are none. Every user may
// create folders in %PROGRAMDATA%, and files in most folders there: so both must belong to an administrator. For a link the owner of the
// link counts.
func CheckSystemSettings(path string) error {
	if path == "" {
		return nil
	}
	for _, path := range []string{filepath.Dir(path), path} {
		switch owner, err := ownerAt(path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		case !acl.IsAdministrators(owner):
			return fmt.Errorf("%s belongs to user %s, who is none of the administrators", path, owner)
		}
	}
	return nil
}

// ownerAt returns the owner of a file or folder, or of the link itself: whoever made a link can redirect it at any time.
func ownerAt(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return files.OwnerOf(file)
}
