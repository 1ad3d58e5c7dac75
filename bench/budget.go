//go:build linux

package main

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"strings"
)

// feature is a part of the agent that may cost something beyond the targets of the rest.
type feature struct {
	name     string
	packages []string // those that only this feature needs, and all below them
	binary   int64    // bytes that it may add to the stripped binary
	rss      int64    // bytes of resident memory that it may add to an idle agent
}

var features = []feature{
	{"tray", []string{"sidetone/internal/tray", "fyne.io/systray"}, 1 << 20, 1 << 20},
	{"service", []string{"sidetone/internal/service", "github.com/kardianos/service"}, 256 << 10, 256 << 10},
	{"languages", []string{"sidetone/internal/texts", "golang.org/x/text"}, 512 << 10, 512 << 10},
	{"metrics", []string{"sidetone/internal/metrics", "github.com/prometheus", "github.com/VictoriaMetrics/metrics"}, 512 << 10, 512 << 10},
}

// codeOf is the size of the functions in a Go program, by package. The table that tells them is
// there in a stripped binary too.
func codeOf(path string) (map[string]int64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	defer f.Close()
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, fmt.Errorf("read the functions of %s: it is no Go program", path)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	code := make(map[string]int64)
	for _, fn := range table.Funcs {
		code[fn.PackageName()] += int64(fn.End - fn.Entry)
	}
	return code, nil
}

// size is how much of the code belongs to the feature's packages; 0: it is not linked.
func (f feature) size(code map[string]int64) (size int64) {
	for pkg, n := range code {
		for _, own := range f.packages {
			if pkg == own || strings.HasPrefix(pkg, own+"/") {
				size += n
			}
		}
	}
	return size
}

// linked sums up the budgets of the features that the program has.
func linked(code map[string]int64, budget func(feature) int64) (sum int64) {
	for _, f := range features {
		if f.size(code) > 0 {
			sum += budget(f)
		}
	}
	return sum
}

// budgets is a row for each feature.
func budgets(code map[string]int64) []row {
	var rows []row
	for _, f := range features {
		r := row{
			figure: fmt.Sprintf("budget of the feature %s: code in the binary", f.name), measured: "not in the binary yet",
			baseline: fmt.Sprintf("it may add %s of resident memory when idle", mib(f.rss)),
			note: "Budgets: the targets for the binary and for idle memory grow by what a feature may cost once it is linked. " +
				"Its code is counted by package; tables and text come on top, and count for the binary as a whole.",
		}
		if size := f.size(code); size > 0 {
			r.measured, r.target, r.met = mib(size), "≤ "+mib(f.binary), size <= f.binary
		} else {
			r.baseline += ", and " + mib(f.binary) + " to the binary"
		}
		rows = append(rows, r)
	}
	return rows
}
