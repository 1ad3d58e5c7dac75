package main

import (
	"io"
	"os"
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
