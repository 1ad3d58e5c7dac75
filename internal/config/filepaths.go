package config

import (
	"fmt"
	"strings"
)

// filePath is a setting, or an element of one, that names a file or a folder.
type filePath struct {
	place string // in a file of settings, such as sources.files[0]
	value *string
}

// paths returns all paths in c.
func (c *Config) paths() []filePath {
	all := []filePath{{"catalogue", &c.Catalogue}, {"control.socket", &c.Control.Socket}}
	for setting, list := range map[string][]string{"sources.files": c.Sources.Files, "rpc.ipc_folders": c.RPC.IPCFolders} {
		for i := range list {
			all = append(all, filePath{fmt.Sprintf("%s[%d]", setting, i), &list[i]})
		}
	}
	return all
}

// CheckShipped returns the faults of settings that ship in packages for every OS: a path that is absolute on one is relative on another.
func (c *Config) CheckShipped() (faults []Fault) {
	for _, p := range c.paths() {
		if *p.value != "" && !strings.HasPrefix(*p.value, "~/") {
			faults = append(faults, Fault{p.place, *p.value, "not the same place on every system", "~/ and the rest, in the user's home"})
		}
	}
	return faults
}
