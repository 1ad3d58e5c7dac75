package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"sidetone/internal/health"
)

// maxStateFile is the maximum size of a state file in bytes, the same as of a push over the API.
const maxStateFile = 1 << 20

// StateFile reads the file into which the vendor's software writes states, and tells when to read it again: after it was written,
// replaced, removed, or has appeared. Its methods are for one goroutine.
//
// The file overrides all other sources, so it must be the user's own; see openState.
type StateFile struct {
	watch     *fileWatch
	given     string        // the path as it was given
	unwatched error         // of the last Read
	retry     time.Duration // until Read is due without an event; 0 = never
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
	return &StateFile{watch: watch, given: path}, nil
}

// Read returns the whole file. Errors say what to do; fs.ErrNotExist means that there is none.
func (f *StateFile) Read(ctx context.Context) (StateContent, error) {
	r, err := readInTime(ctx, f.watch, f.read)
	f.unwatched, f.retry = r.unwatched, 0
	if f.unwatched != nil {
		f.retry = fileRetry
	}
	if err != nil {
		return StateContent{}, fmt.Errorf("state file %s: %w", f.given, err)
	}
	return r.content, nil
}

// Wait returns after the file, or what leads to it, may have changed.
func (f *StateFile) Wait(ctx context.Context) error { return f.watch.wait(ctx, f.retry) }

// Notes says if changes go unnoticed.
func (f *StateFile) Notes() []health.Condition {
	if f.unwatched == nil {
		return nil
	}
	return []health.Condition{f.watch.unwatched(f.given, f.unwatched)}
}

// Close ends Wait and the watching.
func (f *StateFile) Close() error { return f.watch.Close() }

type stateReading struct {
	content   StateContent
	unwatched error
}

// read arms the watcher before it reads: a later change is an event. The time is taken before the data is read, so that data never counts
// as newer than it is.
func (f *StateFile) read() (stateReading, error) {
	r := stateReading{unwatched: f.watch.arm()}
	file, info, err := openState(f.watch.path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	r.content.Written = info.ModTime()
	if info.Size() <= maxStateFile {
		r.content.Data, err = io.ReadAll(io.LimitReader(file, maxStateFile+1))
	}
	switch {
	case err != nil:
		return r, err
	case max(info.Size(), int64(len(r.content.Data))) > maxStateFile:
		return r, fmt.Errorf("larger than the limit of %d bytes: write the states that hold now and nothing else", maxStateFile)
	}
	return r, nil
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
