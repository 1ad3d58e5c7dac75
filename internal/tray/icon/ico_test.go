package icon

import (
	"bytes"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPicture(t *testing.T) {
	file, err := os.ReadFile("files/muted-light.ico")
	require.NoError(t, err)
	for pixels, want := range map[int]int{1: 16, 16: 16, 17: 20, 20: 20, 28: 32, 40: 40, 64: 64, 65: 256, 256: 256, 512: 256} {
		picture, err := png.DecodeConfig(bytes.NewReader(Picture(file, pixels)))
		require.NoError(t, err)
		require.Equal(t, want, picture.Width, "for %d pixels", pixels)
	}
}
