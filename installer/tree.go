package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file of a package.
type File struct {
	Path   string // on the machine, with slashes
	Mode   fs.FileMode
	Data   []byte
	Target string // of a symbolic link; "": it is none
	Config bool   // an administrator may change it, and an upgrade keeps that
}

// Tree is the files of a package, in the order of their paths.
type Tree []File

// add puts a file into the tree.
func (t *Tree) add(path string, data []byte) {
	*t = append(*t, File{Path: path, Mode: 0o644, Data: data})
}

// addProgram puts a file that can be run into the tree.
func (t *Tree) addProgram(path string, data []byte) {
	*t = append(*t, File{Path: path, Mode: 0o755, Data: data})
}

// addConfig puts a file into the tree that an administrator may change.
func (t *Tree) addConfig(path string, data []byte) {
	*t = append(*t, File{Path: path, Mode: 0o644, Data: data, Config: true})
}

// link puts a symbolic link into the tree.
func (t *Tree) link(path, target string) {
	*t = append(*t, File{Path: path, Mode: fs.ModeSymlink | 0o777, Target: target})
}

// sorted is the tree in the order of paths. A path that is there twice is a mistake, in whatever letters: to Windows that is one file.
func (t Tree) sorted() (Tree, error) {
	t = slices.Clone(t)
	slices.SortFunc(t, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	known := make(map[string]string)
	for _, f := range t {
		folded := strings.ToLower(f.Path)
		if other, twice := known[folded]; twice {
			return nil, fmt.Errorf("%s would be in the package twice, also as %s", f.Path, other)
		}
		known[folded] = f.Path
	}
	return t, nil
}

// below is the tree with all paths in a folder.
func (t Tree) below(folder string) Tree {
	t = slices.Clone(t)
	for i := range t {
		t[i].Path = path.Join(folder, t[i].Path)
	}
	return t
}

// write writes the tree into a folder.
func (t Tree) write(folder string) error {
	for _, f := range t {
		name := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if f.Target != "" {
			if err := os.Symlink(f.Target, name); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(name, f.Data, f.Mode); err != nil {
			return err
		}
	}
	return nil
}
