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

// Suffixes of a running program that was moved aside, and of the copy that is to take its place.
const (
	asideSuffix = ".old"
	nextSuffix  = ".new"
)

// rename is a variable so that a test can interrupt SetAside.
var rename = os.Rename

// SetAside lets an installer overwrite programs that run, which Windows does not allow: each is renamed, goes on under the new name, and
// a copy takes its place. A missing program is skipped. If SetAside is interrupted, by a power cut for example, a whole program is in its
// place or the next call puts it there.
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
		return rename(next, path) // interrupted between the two renames below, when the copy was complete
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

// copyFile returns when the copy is on disk. It overwrites what an interrupted copy has left.
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

// RemoveAside removes what SetAside has left. A program that still runs is left to the next call: to have Windows remove it at a restart
// would make administrators' tools report that a restart is due. So is a copy that is all there is of its program.
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
