package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// ReadFile reads a file that Decode can take. Its errors are one line, name the file and wrap
// the cause (fs.ErrNotExist, fs.ErrPermission).
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, readError(path, err)
	}
	// Opening a pipe or a device could block for ever.
	if !info.Mode().IsRegular() {
		what := "not a regular file"
		if info.IsDir() {
			what = "it is a folder, want a file"
		}
		return nil, fmt.Errorf("cannot read %s: %s", path, what)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, readError(path, err)
	}
	return data, checkText(path, data)
}

func checkText(path string, data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("cannot read %s: larger than the limit of %d bytes", path, MaxSize)
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("cannot read %s: not UTF-8 text; save the file as UTF-8", path)
	}
	return nil
}

// readError drops the operation and the path that os puts in front, since the message has them.
func readError(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}
