package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links are followed on the way to a file, as in the kernel.
const maxLinks = 40

// A pathStep is something whose change can change what a path leads to: a name in a folder, or, without a name, the folder or link at
// itself.
type pathStep struct {
	at, name string
	link     bool
}

// point returns the path of a file, a link, or the first missing name; false for a folder on the way.
func (s pathStep) point() (path string, ok bool) {
	if s.name != "" {
		return filepath.Join(s.at, s.name), true
	}
	return s.at, s.link
}

// stepsTo returns what leads to the absolute paths now: each folder and symbolic link on the way from the root, then the file's name in
// its folder, or the first missing name.
func stepsTo(paths []string) []pathStep {
	var steps []pathStep
	for _, path := range paths {
		steps = appendSteps(steps, path)
	}
	return steps
}

func appendSteps(steps []pathStep, path string) []pathStep {
	at, rest := splitRoot(path)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		next := filepath.Join(at, name)
		rest = rest[1:]
		info, err := os.Lstat(next)
		link := err == nil && info.Mode()&fs.ModeSymlink != 0
		if err != nil || !link && (len(rest) == 0 || !info.IsDir()) {
			return append(steps, pathStep{at: at, name: name})
		}
		steps = append(steps, pathStep{at: next, link: link})
		if !link {
			at = next
			continue
		}
		links++
		target, err := os.Readlink(next)
		if err != nil {
			return steps
		}
		root, names := splitRoot(target)
		if root != "" {
			at = root
		}
		rest = append(names, rest...)
	}
	return steps
}

// splitRoot returns the root of path, "" if it is relative, and the names below it.
func splitRoot(path string) (root string, names []string) {
	root = filepath.VolumeName(path)
	path = path[len(root):]
	if strings.HasPrefix(path, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	return root, strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}
