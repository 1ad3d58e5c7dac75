package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// maxStateFile is the maximum size of a state file in bytes, the same as of a push over the API.
const maxStateFile = 1 << 20

// StateFile reads the file into which the vendor's software writes states, and tells when to read it again: after it was written,
// replaced, removed, or has appeared. Its methods are for one goroutine.
//
// The file overrides all other sources, so it must be the user's own; see openState.
type StateFile struct {
	*fileWatch
}

// StateContent is the content of a state file.
type StateContent struct {
	Data    []byte
	Written time.Time // modification time; the data is not older
}

// NewStateFile returns a reader of the state file at path, which need not exist.
func NewStateFile(path string) (*StateFile, error) {
	watch, err := watchFile("state file", path)
	if err != nil {
		return nil, err
	}
	return &StateFile{watch}, nil
}

// Read returns the whole file. Errors say what to do; fs.ErrNotExist means that there is none.
func (f *StateFile) Read(ctx context.Context) (StateContent, error) {
	content, err := readWatched(ctx, f.fileWatch, f.read)
	if err != nil {
		return StateContent{}, fmt.Errorf("state file %s: %w", f.given, err)
	}
	return content, nil
}

// read takes the time before the data is read, so that data never counts as newer than it is.
func (f *StateFile) read() (content StateContent, err error) {
	file, info, err := openState(f.path)
	if err != nil {
		return content, err
	}
	defer file.Close()
	content.Written = info.ModTime()
	if info.Size() <= maxStateFile {
		content.Data, err = io.ReadAll(io.LimitReader(file, maxStateFile+1))
	}
	if err == nil && max(info.Size(), int64(len(content.Data))) > maxStateFile {
		err = fmt.Errorf("larger than the limit of %d bytes: write the states that hold now and nothing else", maxStateFile)
	}
	return content, err
}

// regular refuses an open file that is not a regular one.
func regular(file *os.File) (fs.FileInfo, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder: name a file in it")
	case !info.Mode().IsRegular():
		return nil, errNoFile
	}
	return info, nil
}

var errNoFile = errors.New("it is a pipe, a socket or a device and not a file: remove it, and have the vendor's software write a file")
