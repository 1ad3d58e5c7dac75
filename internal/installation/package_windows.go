package installation

import "golang.org/x/sys/windows/registry"

// Package returns the product code of the package that was installed last, or "".
func Package(name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `Software\`+name, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	code, _, _ := key.GetStringValue("Package")
	return code
}
