package main

import (
	_ "embed"
	"strings"
)

//go:embed linux/sessions.sh
var sessions string

// calls are the commands of a package's scripts, by the package's format and the script's name in nfpm. Each format passes arguments of its
// own.
var calls = map[string]map[string]string{
	"deb": {
		"postinstall": "case $1 in configure | abort-*) installed ;; esac", // abort-*: a removal that was interrupted has ended agents
		"preremove":   "case $1 in remove) end ;; esac",
		"postremove": "case $1 in\nremove) removed ;;\npurge)\n\trm -rf /etc/@NAME@/config.yaml /etc/@NAME@/policy.d\n" +
			"\trmdir /etc/@NAME@ 2>/dev/null || true ;;\nesac",
	},
	"rpm": {
		"posttrans":  "installed", // %post runs before the old version's files are removed
		"preremove":  "[ \"$1\" -gt 0 ] || end",
		"postremove": "[ \"$1\" -gt 0 ] || removed",
	},
	"archlinux": {
		"postinstall": "installed",
		"postupgrade": "installed",
		"preremove":   "end",
		"postremove":  "removed",
	},
}

// scripts are those of a package, by their names in nfpm.
func (b *Brand) scripts(format string) map[string]string {
	all := make(map[string]string)
	for name, call := range calls[format] {
		text := "#!/bin/sh\nset -e\n\n" + sessions + "\n" + call + "\nexit 0\n"
		if format == "archlinux" { // whose scripts are bodies of functions
			text = sessions + "\n" + call + "\n"
		}
		all[name] = strings.ReplaceAll(text, "@NAME@", b.Product.Program)
	}
	return all
}
