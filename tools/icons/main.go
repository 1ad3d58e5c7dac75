// Command icons draws the tray's icons, and that of the programs for Windows, from internal/tray/icon/icon.svg into the files beside it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder holds the source and the files, seen from the top of the repository.
const folder = "internal/tray/icon"

func main() {
	if err := write(folder); err != nil {
		fmt.Fprintln(os.Stderr, "icons:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	source, err := os.ReadFile(filepath.Join(folder, "icon.svg"))
	if err != nil {
		return err
	}
	files, err := drawAll(string(source))
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
