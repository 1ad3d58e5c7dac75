package installation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// asideSuffix ends the name of a program that was put out of the way.
const asideSuffix = ".old"

// SetAside lets an installer write over programs that run, which Windows allows nobody: each gets another name, under which it goes on,
// and a copy takes its place. A program that is not there is left out.
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
	if _, err := os.Stat(path); err != nil {
		return err
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
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	if err := copyFile(path, aside); err != nil {
		return errors.Join(err, os.Remove(path), os.Rename(aside, path))
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// RemoveAside removes what SetAside has left. What still runs is left to the next one: to have Windows remove it at a restart would have
// every tool of an administrator say that one is due.
func RemoveAside(folder string) error {
	left, err := filepath.Glob(filepath.Join(folder, "*.exe.*"+asideSuffix))
	if err != nil {
		return err
	}
	for _, path := range left {
		_ = os.Remove(path)
	}
	return nil
}
