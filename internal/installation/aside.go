package installation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What the names end with of a program that was put out of the way, and of the copy that is to take its place.
const (
	asideSuffix = ".old"
	nextSuffix  = ".new"
)

// Tests replace it, to have all end in between.
var rename = os.Rename

// SetAside lets an installer write over programs that run, which Windows allows nobody: each gets another name, under which it goes on,
// and a copy takes its place. A program that is not there is left out. Whenever it is broken off, as by a power cut, a whole program is
// in its place, or the next call puts it there.
func SetAside(folder string, names []string) error {
	var wrong []error
	for _, name := range names {
		if err := setAside(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = append(wrong, fmt.Errorf("put %s out of the way: %w", name, err))
		}
	}
	return errors.Join(wrong...)
}

func setAside(path string) error {
	next := path + nextSuffix
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return rename(next, path) // broken off between the two below, when the copy was whole
	} else if err != nil {
		return err
	}
	if err := copyFile(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	aside := ""
	for i := 0; aside == ""; i++ {
		name := fmt.Sprintf("%s.%d%s", path, i, asideSuffix)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			aside = name
		} else if err != nil {
			return err
		}
	}
	if err := rename(path, aside); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := rename(next, path); err != nil {
		return errors.Join(err, rename(aside, path), os.Remove(next))
	}
	return nil
}

// copyFile returns when the copy is on the disk. What one that was broken off has left is written over.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// RemoveAside removes what SetAside has left. What still runs is left to the next one: to have Windows remove it at a restart would have
// every tool of an administrator say that one is due. So is a copy that is all there is of its program.
func RemoveAside(folder string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.exe.*"+asideSuffix))
	if err != nil {
		return err
	}
	next, err := filepath.Glob(filepath.Join(folder, "*.exe"+nextSuffix))
	if err != nil {
		return err
	}
	for _, path := range next {
		if _, err := os.Stat(strings.TrimSuffix(path, nextSuffix)); err == nil {
			old = append(old, path)
		}
	}
	for _, path := range old {
		_ = os.Remove(path)
	}
	return nil
}
