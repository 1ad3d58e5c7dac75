// Package linux holds what several subjects share on Linux: sysfs, ioctls, inotify and the kernel's device events.
package linux
