package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/windows/registry"
)

// PolicyValues returns what the administrator has decided, by the path of the setting, and the key that holds it: one below
// HKEY_LOCAL_MACHINE, where only administrators write. There may be none.
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

// policyText returns a value as an environment variable would give it.
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
