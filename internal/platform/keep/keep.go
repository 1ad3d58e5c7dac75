// Package keep has little texts outlast a restart of the agent.
package keep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sidetone/internal/platform/files"
	"sidetone/internal/strictyaml"
)

// A Text is kept for as long as its place is. String says where that is.
type Text interface {
	Read() ([]byte, error) // fs.ErrNotExist: there is none
	Write([]byte) error
	Remove() error // also where there is none
	String() string
}

// File keeps a text in a file at this path, whose folder is made.
type File string

func (f File) String() string { return string(f) }

// Read does not wait for a pipe.
func (f File) Read() ([]byte, error) { return strictyaml.ReadFile(string(f)) }

// Write replaces what is there.
func (f File) Write(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	return files.Replace(string(f), text, 0o600)
}

// Remove leaves the folder.
func (f File) Remove() error {
	if err := os.Remove(string(f)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
