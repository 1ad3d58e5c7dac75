package windows

import (
	"testing"
	"unicode/utf16"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What other programs send may be shorter than it says, or have no end.
func TestNewsOfDevicesIsReadAsFarAsItGoes(t *testing.T) {
	const text = `\\?\hid#vid_046f`
	var memory struct {
		deviceInterface
		more [4 * maxPath]uint16
	}
	header := int(unsafe.Offsetof(memory.name))
	name := unsafe.Slice(&memory.name[0], len(memory.more))
	for i := range name {
		name[i] = 'x'
	}
	copy(name, utf16.Encode([]rune(text)))
	for size, want := range map[int]string{
		header + 2*len(text):        text,
		header + 2*len(text) + 3:    text + "x",
		header + 6:                  text[:3],
		header:                      "",
		header - 1:                  "",
		0:                           "",
		header + 2*len(memory.more): string(utf16.Decode(name[:maxPath])),
		1<<32 - 1:                   string(utf16.Decode(name[:maxPath])),
	} {
		memory.size, memory.kind = uint32(size), kindDeviceInterface
		require.Equal(t, want, memory.path(), size)
		memory.kind = 2 // a volume
		require.Empty(t, memory.path())
	}
}
