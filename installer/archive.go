package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io/fs"
)

// tarball returns a reproducible .tar.gz of a tree. Everything belongs to root, and is in one folder.
func tarball(tree Tree, folder string, r Release) ([]byte, error) {
	tree, err := tree.below(folder).sorted()
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
