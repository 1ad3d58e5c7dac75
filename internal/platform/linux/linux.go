// Package linux holds what several subjects share on Linux: sysfs, ioctls, and what the kernel tells of devices.
package linux
