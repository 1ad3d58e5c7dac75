package main

import (
	"fmt"
	"os"
	"syscall"
)

// isJournal reports whether f is the journal stream of the service manager (JOURNAL_STREAM).
func isJournal(f *os.File, stream string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
