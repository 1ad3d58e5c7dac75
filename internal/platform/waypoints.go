package platform

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links may lie on the way to a file, as in the kernel.
const maxLinks = 40

// waypoints returns the names whose change can change what the absolute path leads to: each
// symbolic link on the way, then the file, or the first name that is missing.
func waypoints(path string) []string {
	var points []string
	at, rest := splitRoot(path)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return append(points, next)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		links++
		points = append(points, next)
		target, err := os.Readlink(next)
		if err != nil {
			return points
		}
		root, names := splitRoot(target)
		if root != "" {
			at = root
		}
		rest = append(names, rest...)
	}
	return append(points, at)
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
