package brand

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidOrigin(t *testing.T) {
	for _, s := range []string{"https://acme.example", "http://localhost:3000", "https://[::1]:8443", "HTTPS://Acme.example", "app://acme"} {
		require.True(t, ValidOrigin(s), s)
	}
	for _, s := range []string{
		"", "acme.example", "https://", "https://acme.example/", "https://acme.example/x", "https://acme.example?x", "https://acme.example#",
		"https://u@acme.example", "https://acme.example:", "https://acme.example:0", "https://acme.example:70000", "https://acme.example:x", "https:acme", "://x", "https://a b",
	} {
		require.False(t, ValidOrigin(s), s)
	}
}

func TestVendorID(t *testing.T) {
	for id, fault := range map[string]string{
		"acme":                  "",
		"a-2":                   "",
		strings.Repeat("a", 24): "",
		strings.Repeat("a", 25): "a vendor's id has at most 24 characters",
		"clients":               "clients cannot be a vendor's id",
		"":                      "not lower-case letters",
		"Acme":                  "not lower-case letters",
		"a/../b":                "not lower-case letters",
		"-acme":                 "not lower-case letters",
	} {
		err := CheckVendorID(id)
		if fault == "" {
			require.NoError(t, err, id)
		} else {
			require.ErrorContains(t, err, fault, id)
		}
	}
}
