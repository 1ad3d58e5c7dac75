package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	tailBytes  = 1 << 20 // how much of a file is searched for its last lines
	tailRepeat = 250 * time.Millisecond
)

// tail writes the last lines of a file and, with follow, what is added to it and to its successor, until ctx ends. It does not keep the
// file open, since the agent could not rename it then.
func tail(ctx context.Context, w io.Writer, path string, lines int, follow bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	at := max(0, info.Size()-tailBytes)
	text, err := readFrom(path, at)
	if err != nil {
		return err
	}
	at += int64(len(text))
	all := bytes.SplitAfter(text, []byte("\n"))
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	_, err = w.Write(bytes.Join(all[max(0, len(all)-lines):], nil))
	for err == nil && follow {
		select {
		case <-time.After(tailRepeat):
		case <-ctx.Done():
			return ctx.Err()
		}
		if info, err := os.Stat(path); err == nil && info.Size() < at {
			at = 0 // it was replaced
		}
		if text, err = readFrom(path, at); errors.Is(err, fs.ErrNotExist) {
			err = nil
			continue
		}
		at += int64(len(text))
		if err == nil {
			_, err = w.Write(text)
		}
	}
	return err
}

func readFrom(path string, at int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, at, 1<<62))
}
