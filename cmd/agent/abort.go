package main

import (
	"context"
	"io"
	"os"
)

// openInterruptible opens a file that may be a pipe or a terminal, where opening and reading can block for ever; - is standard input. Both
// fail when ctx ends, and leave a blocked goroutine behind until the process ends.
func openInterruptible(ctx context.Context, path string) (io.ReadCloser, error) {
	if info, err := os.Stat(path); path != "-" && (err != nil || info.Mode().IsRegular()) {
		return os.Open(path)
	}
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = in.CloseWithError(errInterrupted) })
	go func() {
		defer stop()
		file := os.Stdin
		if path != "-" {
			var err error
			if file, err = os.Open(path); err != nil {
				_ = in.CloseWithError(err)
				return
			}
			defer file.Close()
		}
		_, err := io.Copy(in, file)
		_ = in.CloseWithError(err)
	}()
	return out, nil
}
