package acl

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// NewEvent creates an event that does not exist yet, with an access list in SDDL; "" means the default. The user of this process owns it
// even if the process is elevated, since OpenEvent checks the owner. A manual event stays set until it is reset.
func NewEvent(name, list string, manual bool) (event windows.Handle, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make the event %s: %w", name, err)
		}
	}()
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
	event, err = windows.CreateEvent(attributes, stays, 0, name16)
	if err != nil && event != 0 {
		_ = windows.CloseHandle(event) // somebody else has taken the name
		event = 0
	}
	return event, err
}

// OpenEvent opens an event if it was made by the user with that SID: anybody may have taken its name. An event of the administrators, as
// an elevated process may make, is accepted, too: they need no such way to do harm.
func OpenEvent(name, user string, rights uint32) (event windows.Handle, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the event %s: %w", name, err)
		}
	}()
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	event, err = windows.OpenEvent(rights|windows.READ_CONTROL, false, name16)
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

// Owner returns the SID of an object's owner. The handle needs READ_CONTROL.
func Owner(object windows.Handle, kind windows.SE_OBJECT_TYPE) (sid string, err error) {
	security, err := windows.GetSecurityInfo(object, kind, windows.OWNER_SECURITY_INFORMATION)
	var owner *windows.SID
	if err == nil {
		owner, _, err = security.Owner()
	}
	if err == nil && owner == nil {
		err = errors.New("it has no owner")
	}
	if err != nil {
		return "", fmt.Errorf("whose it is cannot be told: %w", err)
	}
	return owner.String(), nil
}
