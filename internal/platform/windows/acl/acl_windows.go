// Package acl checks who may change files and who has made an event, and identifies the log-on of a token.
package acl

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// SIDs of those who administer a machine. What they own was put there by nobody else.
const (
	administrators   = "S-1-5-32-544"
	localSystem      = "S-1-5-18"
	trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
)

// IsAdministrators reports whether the SID is that of the administrators or the system.
func IsAdministrators(sid string) bool {
	return sid == administrators || sid == localSystem || sid == trustedInstaller
}

// Rights that users may have: to read and run programs and what is beside them; in the folders above also to create files of other names.
const (
	reading = windows.FILE_GENERIC_READ | windows.FILE_GENERIC_EXECUTE | windows.GENERIC_READ | windows.GENERIC_EXECUTE
	making  = reading | windows.FILE_GENERIC_WRITE | windows.GENERIC_WRITE
)

// OnlyAdministratorsCanChange returns nil if only administrators can change the program at path, replace it, or add a DLL beside it,
// according to the access lists of the program, its folder and all folders above.
func OnlyAdministratorsCanChange(path string) error {
	path = filepath.Clean(path)
	if volume := filepath.VolumeName(path); !filepath.IsAbs(path) || len(volume) != 2 || driveType(volume+`\`) != windows.DRIVE_FIXED {
		return fmt.Errorf("%s is not on a disk of this machine", path)
	}
	if err := isDisk(filepath.VolumeName(path)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for allowed, level := windows.ACCESS_MASK(reading), 0; ; level++ {
		if level > 1 {
			allowed = making
		}
		if err := check(path, allowed); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		above := filepath.Dir(path)
		if above == path {
			return nil
		}
		path = above
	}
}

// deviceOf returns what a drive letter stands for, or "".
func deviceOf(drive string) string {
	name, err := windows.UTF16PtrFromString(drive)
	if err != nil {
		return ""
	}
	var target [windows.MAX_PATH]uint16
	if _, err := windows.QueryDosDevice(name, &target[0], uint32(len(target))); err != nil {
		return ""
	}
	return windows.UTF16ToString(target[:])
}

// isDisk returns an error unless a drive letter stands for a disk: with subst it stands for a folder, and tomorrow for another.
func isDisk(drive string) error {
	device := deviceOf(drive)
	if folder, is := strings.CutPrefix(device, `\??\`); is {
		return fmt.Errorf("its drive is really %s: name it so", folder)
	}
	root, err := windows.UTF16PtrFromString(drive + `\`)
	if err != nil {
		return err
	}
	var volume [windows.MAX_PATH]uint16
	if err := windows.GetVolumeNameForVolumeMountPoint(root, &volume[0], uint32(len(volume))); err != nil {
		return fmt.Errorf("its drive stands for %s, which is no disk: %w", cmp.Or(device, "something unknown"), err)
	}
	return nil
}

func driveType(root string) uint32 {
	name, err := windows.UTF16PtrFromString(root)
	if err != nil {
		return windows.DRIVE_UNKNOWN
	}
	return windows.GetDriveType(name)
}

func check(path string, allowed windows.ACCESS_MASK) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	attributes, err := windows.GetFileAttributes(name)
	if err != nil {
		return err
	}
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return errors.New("it is a link to another place")
	}
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("who may change it cannot be told: %w", err)
	}
	return onlyAdministrators(sd, allowed)
}

// accessAllowedCallback is the type of a conditional entry that grants access. Its mask and SID are laid out as in ACCESS_ALLOWED_ACE.
const accessAllowedCallback = 9

// onlyAdministrators returns an error if anybody else has more rights than allowed.
func onlyAdministrators(sd *windows.SECURITY_DESCRIPTOR, allowed windows.ACCESS_MASK) error {
	owner, _, err := sd.Owner()
	if err != nil || owner == nil {
		return errors.New("it belongs to nobody who is known")
	}
	if sid := owner.String(); !IsAdministrators(sid) {
		return fmt.Errorf("it belongs to user %s, who is none of the administrators", sid)
	}
	list, _, err := sd.DACL()
	if err != nil || list == nil {
		return errors.New("everybody may change it")
	}
	for i := range list.AceCount {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, uint32(i), &entry); err != nil {
			return fmt.Errorf("who may change it cannot be told: %w", err)
		}
		header := entry.Header
		if header.AceType == windows.ACCESS_DENIED_ACE_TYPE || header.AceFlags&windows.INHERIT_ONLY_ACE != 0 {
			continue
		}
		if header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE && header.AceType != accessAllowedCallback {
			return fmt.Errorf("who may change it cannot be told: its access list has an entry of type %d", header.AceType)
		}
		sid := (*windows.SID)(unsafe.Pointer(&entry.SidStart)).String()
		if entry.Mask&^allowed != 0 && !IsAdministrators(sid) {
			return fmt.Errorf("user or group %s, who is none of the administrators, may change it", sid)
		}
	}
	return nil
}

// LogonOf returns the id of a token's log-on session, which is unique until the machine restarts.
func LogonOf(token windows.Token) (uint64, error) {
	var statistics struct{ TokenID, AuthenticationID windows.LUID } // TOKEN_STATISTICS begins so
	var all [64]byte
	var n uint32
	if err := windows.GetTokenInformation(token, windows.TokenStatistics, &all[0], uint32(len(all)), &n); err != nil {
		return 0, fmt.Errorf("the log-on of a session: %w", err)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&statistics)), unsafe.Sizeof(statistics)), all[:])
	id := statistics.AuthenticationID
	return uint64(id.HighPart)<<32 | uint64(id.LowPart), nil
}
