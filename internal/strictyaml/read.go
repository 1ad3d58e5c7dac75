package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// ReadError says why a file cannot be read, in one line.
type ReadError struct {
	Path string
	Err  error // does not name the file
}

func (e *ReadError) Error() string { return fmt.Sprintf("cannot read %s: %v", e.Path, e.Err) }

// Unwrap returns the cause, such as fs.ErrNotExist.
func (e *ReadError) Unwrap() error { return e.Err }

// ReadFile reads a file that Decode can take. An error is a *ReadError.
func ReadFile(path string) ([]byte, error) {
	data, err := read(path)
	if err != nil {
		// ReadError adds the operation and the path itself.
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, &ReadError{path, err}
	}
	return data, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a folder, want a file")
	}
	// Opening a pipe or a device could block for ever.
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxSize:
		return nil, fmt.Errorf("larger than the limit of %d bytes", MaxSize)
	case !utf8.Valid(data):
		return nil, errors.New("not UTF-8 text; save the file as UTF-8")
	}
	return data, nil
}
