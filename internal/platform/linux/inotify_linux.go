package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sidetone/internal/health"
)

// Inotify makes an inotify instance. Its error says which limit is reached; see InotifyLimit.
func Inotify(flags int) (fd int, err error) {
	fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | flags)
	return fd, InotifyLimit(err)
}

// InotifyLimit says of an error of inotify, or of fsnotify, which limit is reached and what to do about it: the kernel's words are
// "too many open files" and "no space left on device". The limits of a user carry the condition health.WatchLimit. Other errors are
// returned as they are.
func InotifyLimit(err error) error {
	if _, said := health.Of(err); said {
		return err
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		return limitReached(err, "fs.inotify.max_user_watches")
	case errors.Is(err, unix.EMFILE) && canOpen():
		return limitReached(err, "fs.inotify.max_user_instances")
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w: the limit of this process's open files is reached; raise it (ulimit -n)", err)
	}
	return err
}

// canOpen reports whether this process may have one more open file: the kernel has one error for that limit and for inotify's.
func canOpen() bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// limitReached is the condition that a limit of all of a user's programs is, with its remedy in the error's words.
func limitReached(err error, limit string) error {
	const atLeast = 1024
	args, more := health.Args{"limit": limit}, atLeast
	text, _ := os.ReadFile(filepath.Join("/proc/sys", strings.ReplaceAll(limit, ".", "/")))
	if value, notRead := strconv.Atoi(strings.TrimSpace(string(text))); notRead == nil {
		args["value"], more = strconv.Itoa(value), max(4*value, atLeast)
	}
	args["more"] = strconv.Itoa(more)
	e := &health.Error{Condition: health.Condition{Code: health.WatchLimit, Severity: health.Warning, Args: args}, Cause: err}
	return fmt.Errorf("%w: %w; %s", err, e, health.English.Advice(e.Condition))
}
