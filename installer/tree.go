package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
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
	Target string // of a symbolic link; "" for a regular file
	Config bool   // an administrator may change it, and upgrades keep the change
}

// Tree is the files of a package.
type Tree []File

func (t *Tree) add(path string, data []byte) {
	*t = append(*t, File{Path: path, Mode: 0o644, Data: data})
}

func (t *Tree) addProgram(path string, data []byte) {
	*t = append(*t, File{Path: path, Mode: 0o755, Data: data})
}

func (t *Tree) link(path, target string) {
	*t = append(*t, File{Path: path, Mode: fs.ModeSymlink | 0o777, Target: target})
}

// sorted returns the tree in the order of paths. It fails where two paths differ in nothing but the case of letters, which Windows ignores.
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

// below returns the tree moved into a folder.
func (t Tree) below(folder string) Tree {
	t = slices.Clone(t)
	for i := range t {
		t[i].Path = path.Join(folder, t[i].Path)
	}
	return t
}

func (t Tree) write(folder string) error {
	for _, f := range t {
		name := filepath.Join(folder, filepath.FromSlash(f.Path))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if f.Target != "" {
			err = errors.Join(err, os.Symlink(f.Target, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, f.Data, f.Mode))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tarball returns a reproducible .tar.gz of a tree. Everything belongs to root.
func tarball(tree Tree, r Release) ([]byte, error) {
	tree, err := tree.sorted()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range tree {
		h := &tar.Header{
			Name: f.Path, Mode: int64(f.Mode & fs.ModePerm), Size: int64(len(f.Data)), ModTime: r.Time, Linkname: f.Target,
			Typeflag: tar.TypeReg, Uname: "root", Gname: "root", Format: tar.FormatPAX,
		}
		if f.Target != "" {
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return zipped(b.Bytes()), err
}

// zipArchive returns a reproducible .zip of a tree.
func zipArchive(tree Tree, r Release) ([]byte, error) {
	tree, err := tree.sorted()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range tree {
		h := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: r.Time}
		h.SetMode(f.Mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err = z.Close()
	return b.Bytes(), err
}
