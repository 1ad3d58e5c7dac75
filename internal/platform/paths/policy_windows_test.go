package paths

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/registry"
)

// TestPolicy reads a policy from a key of this user's, which is read like the machine's.
func TestPolicy(t *testing.T) {
	const path = `Software\SidetoneTest-policy`
	_ = registry.DeleteKey(registry.CURRENT_USER, path)
	key, values, err := policyAt(registry.CURRENT_USER, `HKCU\`, path)
	require.NoError(t, err)
	require.Equal(t, `HKCU\`+path, key)
	require.Empty(t, values, "there is no policy")

	k, _, err := registry.CreateKey(registry.CURRENT_USER, path, registry.ALL_ACCESS)
	require.NoError(t, err)
	t.Cleanup(func() {
		k.Close()
		_ = registry.DeleteKey(registry.CURRENT_USER, path)
	})
	require.NoError(t, k.SetStringValue("rpc.on_exit", "clear"))
	require.NoError(t, k.SetStringsValue("report.fields", []string{"hardware_mute", "noise_suppression"}))
	require.NoError(t, k.SetDWordValue("rpc.tokens", 3))
	_, values, err = policyAt(registry.CURRENT_USER, `HKCU\`, path)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"rpc.on_exit": "clear", "report.fields": "hardware_mute,noise_suppression", "rpc.tokens": "3"}, values)

	require.NoError(t, k.SetBinaryValue("sources.hid", []byte{1}))
	_, _, err = policyAt(registry.CURRENT_USER, `HKCU\`, path)
	require.EqualError(t, err,
		`cannot read HKCU\`+path+`\sources.hid: type 3 of the registry is none of REG_SZ, REG_MULTI_SZ, REG_DWORD and REG_QWORD`)
}
