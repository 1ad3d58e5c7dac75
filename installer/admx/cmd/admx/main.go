// Command admx writes the templates of a program's group policies into a folder.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sidetone/installer/admx"
	"sidetone/internal/platform/paths"
)

func main() {
	program := flag.String("program", "sidetone", "name of the agent's program")
	title := flag.String("title", "Sidetone", "what the editor of policies calls it")
	out := flag.String("out", "", "folder to write to, made if need be")
	flag.Parse()
	if err := write(*program, *title, *out); err != nil {
		fmt.Fprintln(os.Stderr, "admx:", err)
		os.Exit(1)
	}
}

func write(program, title, out string) error {
	if out == "" {
		return errors.New("say where to with -out FOLDER")
	}
	files, err := admx.Files(admx.Program{Name: program, Title: title, Key: paths.PolicyKey(program), Namespace: "Policies." + program})
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(out, filepath.FromSlash(f.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
