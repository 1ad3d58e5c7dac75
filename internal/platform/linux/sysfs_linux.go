// Package linux holds what several subjects share on Linux: sysfs, ioctls, inotify and the kernel's device events.
package linux

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Inode returns the inode number of a file, or 0.
func Inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// Exists reports whether there is something at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CString converts a NUL-terminated text of the kernel, which may be cut within a character.
func CString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}

// USBDevice is the USB device of an endpoint.
type USBDevice struct {
	// Container is "usb:" and the device's folder below /sys/devices. It is the same for all functions of one device, and identifies the
	// port that it is plugged into.
	Container string
	VID, PID  string // 4 lower-case hex digits
	Serial    string // as the device gives it; empty for many
	Version   string // bcdDevice, 4 lower-case hex digits; empty: unknown
	Number    string // devnum, which another device in this port would not have, nor this one once it was plugged in anew; empty: unknown
}

// USBParent returns the USB device of the sysfs entry at path; false if there is none. It reads what the kernel has cached and wakes no
// device.
func USBParent(path string) (USBDevice, bool) {
	devices, rel, ok := SplitSysfs(path)
	if !ok {
		return USBDevice{}, false
	}
	for ; rel != "."; rel = filepath.Dir(rel) {
		dir := filepath.Join(devices, rel)
		vid, pid := HexID(Attribute(dir, "idVendor")), HexID(Attribute(dir, "idProduct"))
		if vid == "" || pid == "" {
			continue
		}
		return USBDevice{
			Container: "usb:" + rel,
			VID:       vid,
			PID:       pid,
			Serial:    Attribute(dir, "serial"),
			Version:   HexID(Attribute(dir, "bcdDevice")),
			Number:    Attribute(dir, "devnum"),
		}, true
	}
	return USBDevice{}, false
}

// SplitSysfs resolves the sysfs entry at path and splits it after "/sys/devices/"; false if it does not exist or is no device.
func SplitSysfs(path string) (devices, rel string, ok bool) {
	const mark = "/sys/devices/"
	full, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", "", false
	}
	at := strings.LastIndex(full, mark)
	if at < 0 {
		return "", "", false
	}
	return full[:at+len(mark)], full[at+len(mark):], true
}

// Attribute reads a text attribute of sysfs; "" if it is absent.
func Attribute(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}

// HexID normalizes a vendor or product id ("46f4", "0x46F4") to 4 lower-case hex digits; "" if it is none.
func HexID(s string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "0x"), 16, 16)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(1<<16|n, 16)[1:]
}
