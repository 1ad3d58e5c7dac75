package acl

import (
	"crypto/rand"
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/wine"
)

// TestEvents: an event is opened if it was made by whom it should be, and made if nobody has made it before.
func TestEvents(t *testing.T) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	require.NoError(t, err)
	me := user.User.Sid.String()
	for _, list := range []string{"", "D:P(A;;GA;;;SY)(A;;0x00120000;;;" + me + ")"} {
		name := `Local\sidetone-test-` + rand.Text()
		_, err := OpenEvent(name, me, windows.SYNCHRONIZE)
		require.ErrorIs(t, err, windows.ERROR_FILE_NOT_FOUND)
		made, err := NewEvent(name, list, true)
		require.NoError(t, err)
		_, err = NewEvent(name, list, true)
		require.Contains(t, []error{windows.ERROR_ALREADY_EXISTS, windows.ERROR_ACCESS_DENIED}, errors.Unwrap(err), "as its list says")
		opened, err := OpenEvent(name, me, windows.SYNCHRONIZE)
		require.NoError(t, err)
		_, err = OpenEvent(name, ipctest.Stranger, windows.SYNCHRONIZE)
		require.ErrorContains(t, err, "it was made by user "+me)
		require.NoError(t, windows.SetEvent(made))
		for range 2 {
			which, err := windows.WaitForSingleObject(opened, 0)
			require.NoError(t, err)
			require.EqualValues(t, windows.WAIT_OBJECT_0, which, "it stays set")
		}
		require.NoError(t, windows.CloseHandle(made))
		require.NoError(t, windows.CloseHandle(opened))
		_, err = OpenEvent(name, me, windows.SYNCHRONIZE)
		require.ErrorIs(t, err, windows.ERROR_FILE_NOT_FOUND, "no handle of those that were refused is left")
	}
}

// TestEventsOfOthers: what administrators make belongs to all of them.
func TestEventsOfOthers(t *testing.T) {
	if !wine.Is() {
		t.Skip("Windows lets nobody else make an object that belongs to another user")
	}
	for owner, opens := range map[string]bool{ipctest.Stranger: false, administrators: true, localSystem: true} {
		name := `Local\sidetone-test-` + rand.Text()
		sd, err := windows.SecurityDescriptorFromString("O:" + owner + "D:(A;;GA;;;WD)")
		require.NoError(t, err)
		name16, err := windows.UTF16PtrFromString(name)
		require.NoError(t, err)
		attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
		attributes.Length = uint32(unsafe.Sizeof(*attributes))
		event, err := windows.CreateEvent(attributes, 0, 0, name16)
		require.NoError(t, err)
		defer windows.CloseHandle(event)
		opened, err := OpenEvent(name, "S-1-5-21-0-0-0-1000", windows.EVENT_MODIFY_STATE)
		if opens {
			require.NoError(t, err)
			require.NoError(t, windows.CloseHandle(opened))
		} else {
			require.ErrorContains(t, err, "it was made by user "+owner)
		}
	}
}
