package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sidetone/internal/platform/linux"
)

// touching are the events of a program that reads or writes in a folder. Only a check whether a file exists leaves no trace.
const touching = unix.IN_OPEN | unix.IN_MODIFY | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// folderWatch notices everything that is opened, made or removed in some folders.
type folderWatch struct {
	first   string // of the folders
	inotify *os.File
	names   map[uint32]string
	ended   chan struct{}
}

// watchFolders calls note for each event in the folders and all below them, except in leaveOut.
func watchFolders(folders []string, leaveOut string, note func(string)) (*folderWatch, error) {
	fd, err := linux.Inotify(unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch folders: %w", err)
	}
	w := &folderWatch{first: folders[0], inotify: os.NewFile(uintptr(fd), "inotify"), names: map[uint32]string{}, ended: make(chan struct{})}
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path == leaveOut:
				return fs.SkipDir
			case !entry.IsDir():
				return nil
			}
			n, err := unix.InotifyAddWatch(fd, path, touching)
			w.names[uint32(n)] = path
			return linux.InotifyLimit(err)
		}))
	}
	if err != nil {
		w.inotify.Close()
		return nil, fmt.Errorf("watch folders: %w", err)
	}
	buffer := make([]byte, 1<<16)
	for n := 1; n > 0; { // walking the folders has opened them
		n, _ = unix.Read(fd, buffer)
	}
	go func() {
		defer close(w.ended)
		w.hear(buffer, leaveOut, note)
	}()
	return w, nil
}

// last is the name of the file that ends the watch.
const last = "end-of-watch"

func (w *folderWatch) hear(buffer []byte, leaveOut string, note func(string)) {
	for {
		n, err := w.inotify.Read(buffer)
		if err != nil {
			note(fmt.Sprintf("the watch of the folders failed: %v", err))
			return
		}
		for event := range linux.InotifyEvents(buffer[:n]) {
			path := filepath.Join(w.names[event.Watch], event.Name)
			switch {
			case event.Name == last:
				return
			case event.Mask&unix.IN_Q_OVERFLOW != 0:
				note("the folders were used more often than can be told")
				return
			case path != leaveOut:
				note(path + " was " + eventName(event.Mask))
			}
		}
	}
}

func eventName(mask uint32) string {
	switch {
	case mask&unix.IN_OPEN != 0:
		return "opened"
	case mask&unix.IN_MODIFY != 0:
		return "written"
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		return "made"
	default:
		return "removed"
	}
}

// close ends the watch after all events so far: they come in order.
func (w *folderWatch) close() {
	if err := os.WriteFile(filepath.Join(w.first, last), nil, 0o600); err == nil {
		<-w.ended
	}
	_ = w.inotify.Close()
}
