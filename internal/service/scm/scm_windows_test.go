package scm

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/wine"
)

func TestPrivilegesHaveNames(t *testing.T) {
	for _, name := range Privileges {
		name16, err := windows.UTF16PtrFromString(name)
		require.NoError(t, err)
		require.NoError(t, windows.LookupPrivilegeValue(nil, name16, new(windows.LUID)), name)
	}
}

// TestConfigureByName: the service manager is told. Wine's keeps nothing of it, and knows no privileges of services.
func TestConfigureByName(t *testing.T) {
	require.ErrorIs(t, ConfigureByName("acme-none"), windows.ERROR_SERVICE_DOES_NOT_EXIST)
	m, err := mgr.Connect()
	require.NoError(t, err)
	defer m.Disconnect()
	s, err := m.CreateService("acme-configured", `C:\acme.exe`, mgr.Config{StartType: mgr.StartManual})
	require.NoError(t, err)
	defer s.Close()
	defer func() { require.NoError(t, s.Delete()) }()
	require.True(t, wine.Is() != (s.SetRecoveryActionsOnNonCrashFailures(true) == nil), "as an earlier version has registered it")
	err = ConfigureByName("acme-configured")
	require.Equal(t, Privileges, namesOf(&privilegeList()[0]))
	again, unknown := RestartsAfterErrors(s)
	require.NoError(t, unknown)
	require.False(t, again)
	if wine.Is() {
		require.ErrorIs(t, err, windows.ERROR_INVALID_LEVEL)
		require.ErrorContains(t, err, "required privileges: ")
		require.NotContains(t, err.Error(), "recovery actions: ")
		require.ErrorContains(t, err, "no restart after errors: ", "all of it was tried")
		return
	}
	require.NoError(t, err)
	actions, err := s.RecoveryActions()
	require.NoError(t, err)
	require.Equal(t, Actions, actions)
	buffer := make([]byte, 8<<10) // the most that it can be
	const level = windows.SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO
	require.NoError(t, windows.QueryServiceConfig2(s.Handle, level, &buffer[0], uint32(len(buffer)), new(uint32)))
	require.Equal(t, Privileges, namesOf(*(**uint16)(unsafe.Pointer(&buffer[0]))))
}

// namesOf are the texts of a list that ends with an empty one.
func namesOf(list *uint16) (names []string) {
	for *list != 0 {
		name := windows.UTF16PtrToString(list)
		names = append(names, name)
		list = (*uint16)(unsafe.Add(unsafe.Pointer(list), 2*(len(name)+1)))
	}
	return names
}
