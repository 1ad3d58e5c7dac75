package system

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/texts"
	"sidetone/internal/wine"
)

// TestLanguagesOfWindows: that of the user's Windows is the tray's, if there is one of it, in the script that the user reads.
func TestLanguagesOfWindows(t *testing.T) {
	if !wine.Is() {
		t.Skip("on Windows it would change the user's language; under Wine that of this process")
	}
	set := func(id uint16) {
		status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtSetDefaultUILanguage").Call(uintptr(id))
		require.Zero(t, status, windows.NTStatus(status))
	}
	const english, austrian, mainland, taiwan, czech = 0x0409, 0x0c07, 0x0804, 0x0404, 0x0405
	defer set(english)
	for id, want := range map[uint16]struct{ name, shown string }{
		english: {"en-US", "en"}, austrian: {"de-AT", "de"}, mainland: {"zh-CN", "zh-Hans"}, taiwan: {"zh-TW", "en"}, czech: {"cs-CZ", "en"},
	} {
		set(id)
		require.Equal(t, []string{want.name}, Languages())
		require.Equal(t, want.shown, texts.Shipped.Match(Languages()...), want.name)
	}
}
