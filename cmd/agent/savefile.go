package main

import (
	"io"
	"os"
)

// saveNew creates a file, which must not exist. If it fails it leaves no file.
func saveNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return finish(f, write)
}

// finish writes and closes a newly created file, or removes it.
func finish(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(f.Name()) // a partial file could be taken for a complete one, and would block the next try
	}
	return err
}
