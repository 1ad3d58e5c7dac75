//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCabinetIsReadByOthers: what was packed comes out again, by msitools, whatever is in it and wherever it ends.
func TestCabinetIsReadByOthers(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	random := make([]byte, frameSize+17)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	program := programForWindows(t)
	tree := exampleTree()
	tree[0].Data = append(random, program[:4*frameSize]...)
	tree[1].Data = append(bytes.Repeat(random, 5), program[:frameSize]...) // matches far away
	tree[2].Data = make([]byte, 2*frameSize-1)
	tree[3].Data = []byte("x")
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, tree)
	folder := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "msiextract", "--directory", folder, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range tree {
		data, err := os.ReadFile(filepath.Join(folder, "acme-agent", f.Path))
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.Data, data), f.Path)
	}
}

// TestBlocksOfACabinet are never longer than Windows takes them, whatever is in them, and as many as there are frames.
func TestBlocksOfACabinet(t *testing.T) {
	const most = frameSize + 6144 // for LZX
	random := make([]byte, 2*frameSize+17)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	all := append(random, make([]byte, frameSize)...)
	for _, how := range []effort{quick, thorough} {
		var out bytes.Buffer
		n, size := blocksOf(&out, all, how), 0
		for range n {
			head := out.Next(8)
			packed := int(binary.LittleEndian.Uint16(head[4:]))
			require.LessOrEqual(t, packed, most)
			require.Zero(t, packed%2)
			require.Len(t, out.Next(packed), packed)
			size += int(binary.LittleEndian.Uint16(head[6:]))
		}
		require.Zero(t, out.Len())
		require.Len(t, all, size)
	}
}
