package acl

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// NewEvent makes an event that nobody has made before, with an access list in Windows' own words (SDDL); "" is the usual one. It belongs to
// the user of this process also where that has the rights of an administrator: OpenEvent goes by it. One that is manual stays set.
func NewEvent(name, list string, manual bool) (windows.Handle, error) {
	event, err := newEvent(name, list, manual)
	if err != nil {
		return 0, fmt.Errorf("make the event %s: %w", name, err)
	}
	return event, nil
}

func newEvent(name, list string, manual bool) (windows.Handle, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return 0, err
	}
	sd, err := windows.SecurityDescriptorFromString("O:" + user.User.Sid.String() + list)
	if err != nil {
		return 0, err
	}
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	var stays uint32
	if manual {
		stays = 1
	}
	event, err := windows.CreateEvent(attributes, stays, 0, name16)
	if err != nil && event != 0 {
		_ = windows.CloseHandle(event) // somebody else's, who had the name before
		event = 0
	}
	return event, err
}

// OpenEvent opens an event if it was made by the user of that SID: anybody may have taken its name before. What somebody makes who has the
// rights of an administrator may belong to all administrators, who need no such way to do harm.
func OpenEvent(name, user string, rights uint32) (windows.Handle, error) {
	event, err := openEvent(name, user, rights)
	if err != nil {
		return 0, fmt.Errorf("open the event %s: %w", name, err)
	}
	return event, nil
}

func openEvent(name, user string, rights uint32) (windows.Handle, error) {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	event, err := windows.OpenEvent(rights|windows.READ_CONTROL, false, name16)
	if err != nil {
		return 0, err
	}
	owner, err := Owner(event, windows.SE_KERNEL_OBJECT)
	if err == nil && owner != user && !IsAdministrators(owner) {
		err = fmt.Errorf("it was made by user %s, not by %s", owner, user)
	}
	if err != nil {
		_ = windows.CloseHandle(event)
		return 0, err
	}
	return event, nil
}

// Owner is the SID of whom an object belongs to, by a handle that lets it be read (READ_CONTROL).
func Owner(object windows.Handle, kind windows.SE_OBJECT_TYPE) (sid string, err error) {
	security, err := windows.GetSecurityInfo(object, kind, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", fmt.Errorf("whose it is cannot be told: %w", err)
	}
	owner, _, err := security.Owner()
	if err == nil && owner == nil {
		err = errors.New("it has no owner")
	}
	if err != nil {
		return "", fmt.Errorf("whose it is cannot be told: %w", err)
	}
	return owner.String(), nil
}
