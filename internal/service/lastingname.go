package service

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// LastingName returns the name of a program that is to be started again after an update. The path of its file may be that of one version
// alone (/nix/store/HASH-…, …/Cellar/…/VERSION, the folder of a mounted AppImage), which the update removes. It is the AppImage, else
// the name with which the program was started, else one on the search path, if that leads to the very file, else the file.
//
// self is the program's file, and started its argv[0].
func LastingName(self, started string, getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		return self // an update keeps the path
	}
	if image := getenv("APPIMAGE"); filepath.IsAbs(image) && within(self, getenv("APPDIR")) && exists(image) {
		return image
	}
	resolved, err := filepath.EvalSymlinks(self)
	if err != nil {
		return self
	}
	leads := func(name string) bool {
		return name != resolved && filepath.IsAbs(name) && !strings.HasPrefix(name, "/proc/") && sameFile(name, self)
	}
	if strings.Contains(started, "/") {
		if name, err := filepath.Abs(started); err == nil && leads(name) {
			return name
		}
	}
	var names []string
	for _, folder := range filepath.SplitList(getenv("PATH")) {
		names = append(names, filepath.Join(folder, filepath.Base(started)))
	}
	if i := slices.IndexFunc(names, leads); i >= 0 && !slices.Contains(names, resolved) {
		return names[i]
	}
	return self
}

// within reports whether path is in the folder; with "" it is not known, and it may be. A program that an AppImage has started has the
// variables of that, and is not in it.
func within(path, folder string) bool {
	return folder == "" || strings.HasPrefix(path, filepath.Clean(folder)+"/")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
