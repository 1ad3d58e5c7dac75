package linux

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Inode is the number of a file, 0 if unknown.
func Inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// Exists reports whether there is something at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CString reads a NUL-terminated text of the kernel, which may be cut within a character.
func CString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}
