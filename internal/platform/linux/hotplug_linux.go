package linux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"sidetone/internal/health"
)

// Tree holds a system's folders of devices.
type Tree struct{ Sys, Dev string }

// OpenTree returns those in root, or of the running system if root is "".
func OpenTree(root string) (Tree, error) {
	root = cmp.Or(root, "/")
	if info, err := os.Stat(root); err != nil {
		return Tree{}, err
	} else if !info.IsDir() {
		return Tree{}, fmt.Errorf("%s is not a folder that holds sys and dev", root)
	}
	return TreeIn(root), nil
}

// TreeIn returns the tree in the folder root.
func TreeIn(root string) Tree { return Tree{filepath.Join(root, "sys"), filepath.Join(root, "dev")} }

// Class returns the paths of the entries of a device class, in numerical order.
func (t Tree) Class(name string) ([]string, error) {
	class := filepath.Join(t.Sys, "class", name)
	entries, err := os.ReadDir(class)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(class)) // without the folder of all classes this is no sysfs
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, filepath.Join(class, e.Name()))
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return paths, err
}

// Hotplug notices when devices of one kind come and go, and when this user gains or loses access to them.
type Hotplug struct {
	kind    string // "camera"
	readers []*Reader
	notes   []health.Condition
}

// WatchHotplug calls notify after a kernel event of the subsystem, and when a node in the folder dev that match accepts has changed.
// notify must not block. What cannot be watched is logged and is in Notes.
func WatchHotplug(kind, subsystem, dev string, match func(node string) bool, log *slog.Logger, notify func()) *Hotplug {
	h := &Hotplug{kind: kind}
	add := func(r *Reader, err error, without health.Code) {
		if err == nil {
			h.readers = append(h.readers, r)
			return
		}
		note := health.Follow(err, without, health.Warning, health.Args{"device": kind})
		log.Warn(note.Error())
		h.notes = append(h.notes, note.Condition)
	}
	kernel, err := watchUevents(subsystem, notify)
	add(kernel, err, health.PlugsUnheard)
	access, err := watchNodes(dev, match, notify)
	add(access, err, health.AccessUnwatched)
	return h
}

// Notes says what is not watched.
func (h *Hotplug) Notes() []health.Condition {
	notes := slices.Clone(h.notes)
	for _, r := range h.readers {
		if err := r.Failed(); err != nil {
			notes = append(notes, health.Wrap(err, health.DevicesUnwatched, health.Warning, health.Args{"device": h.kind}).Condition)
		}
	}
	return notes
}

// Close ends the watching.
func (h *Hotplug) Close() error {
	var errs []error
	for _, r := range h.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
