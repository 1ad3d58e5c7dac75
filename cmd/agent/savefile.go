package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// saveNew makes a file that was not there, or leaves none.
func saveNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return finish(f, write)
}

// finish fills and closes a file that was made for it, or removes it.
func finish(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(f.Name()) // half a file would be taken for a whole one, and be in the way of the next try
	}
	return err
}

// replaceFile puts a new file in the place of another: whoever reads it meets one of them, whole.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".sidetone-*")
	if err != nil {
		return err
	}
	err = finish(f, func(w io.Writer) error {
		if _, err := w.Write(content); err != nil {
			return err
		}
		return f.Chmod(mode)
	})
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
