package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sidetone/internal/strictyaml"
)

// Text is a short text that outlasts the agent, in the file at this path.
type Text string

// Read returns fs.ErrNotExist if there is none. It does not block at a pipe.
func (t Text) Read() ([]byte, error) { return strictyaml.ReadFile(string(t)) }

// Write replaces the text. Its folder is made.
func (t Text) Write(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(string(t)), 0o700); err != nil {
		return err
	}
	return Replace(string(t), text, 0o600)
}

// Remove leaves the folder in place. It is no error if there is no text.
func (t Text) Remove() error {
	err := os.Remove(string(t))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
