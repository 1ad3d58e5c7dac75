// Package keep stores short texts that must survive a restart of the agent.
package keep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sidetone/internal/platform/files"
	"sidetone/internal/strictyaml"
)

// A Text is a stored text. String says where it is stored.
type Text interface {
	Read() ([]byte, error) // fs.ErrNotExist: there is none
	Write([]byte) error
	Remove() error // no error if there is none
	String() string
}

// File stores a text in the file at this path. Its folder is made.
type File string

func (f File) String() string { return string(f) }

// Read does not block at a pipe.
func (f File) Read() ([]byte, error) { return strictyaml.ReadFile(string(f)) }

// Write replaces the text.
func (f File) Write(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	return files.Replace(string(f), text, 0o600)
}

// Remove leaves the folder in place.
func (f File) Remove() error {
	if err := os.Remove(string(f)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
