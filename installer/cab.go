package main

import (
	"bytes"
	"encoding/binary"
	"time"
)

// cabinet holds the files of a tree, by the keys that an installer database has for them, as Windows Installer reads them.
func cabinet(tree Tree, at time.Time, how effort) []byte {
	var files, data, all bytes.Buffer
	year, month, day := at.Date()
	dosDate, dosTime := uint16((year-1980)<<9|int(month)<<5|day), uint16(at.Hour()<<11|at.Minute()<<5|at.Second()/2)
	for i, f := range tree {
		_ = binary.Write(&files, binary.LittleEndian, struct {
			Size, Offset              uint32
			Folder, Date, Time, Flags uint16
		}{uint32(len(f.Data)), uint32(all.Len()), 0, dosDate, dosTime, 0x20})
		files.WriteString(fileKey(i) + "\x00")
		all.Write(f.Data)
	}
	blocks := blocksOf(&data, all.Bytes(), how)
	const headers = 36 + 8 // of cabinet and folder
	dataAt := uint32(headers + files.Len())
	var out bytes.Buffer
	out.WriteString("MSCF")
	_ = binary.Write(&out, binary.LittleEndian, struct {
		_, Size, _, FilesAt, _                uint32
		Version, Folders, Files, Flags, ID, N uint16
		DataAt                                uint32
		Blocks, Compression                   uint16
	}{
		Size: dataAt + uint32(data.Len()), FilesAt: headers, Version: 0x0103, Folders: 1, Files: uint16(len(tree)),
		DataAt: dataAt, Blocks: blocks, Compression: lzxOfCabinets,
	})
	out.Write(files.Bytes())
	out.Write(data.Bytes())
	return out.Bytes()
}

// blocksOf writes data as the blocks of a cabinet. Each is one frame.
func blocksOf(out *bytes.Buffer, all []byte, how effort) (n uint16) {
	for i, frame := range lzx(all, how) {
		sizes := binary.LittleEndian.AppendUint16(nil, uint16(len(frame)))
		sizes = binary.LittleEndian.AppendUint16(sizes, uint16(min(frameSize, len(all)-i*frameSize)))
		_ = binary.Write(out, binary.LittleEndian, checksumOf(sizes, checksumOf(frame, 0)))
		out.Write(sizes)
		out.Write(frame)
		n++
	}
	return n
}

// checksumOf returns a block's checksum: exclusive or of all words, and of the last bytes in reverse order.
func checksumOf(data []byte, sum uint32) uint32 {
	for ; len(data) >= 4; data = data[4:] {
		sum ^= binary.LittleEndian.Uint32(data)
	}
	var rest uint32
	for _, b := range data {
		rest = rest<<8 | uint32(b)
	}
	return sum ^ rest
}
