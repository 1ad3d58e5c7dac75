package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"time"
)

// blockSize is what a cabinet has in one block, as it was before it was compressed.
const blockSize = 32 << 10

// maxPacked is what a block may have at most, compressed and with its mark. Windows makes room for no more.
const maxPacked = blockSize + 12

// msZIP is the way of compression: deflate, block by block, each with the one before as its dictionary.
const msZIP = 1

// cabinet is files in the order of a tree, by the names that an installer database has for them, as Windows Installer reads them.
func cabinet(tree Tree, names []string, at time.Time, level int) ([]byte, error) {
	var files, data, all bytes.Buffer
	for i, f := range tree {
		_ = binary.Write(&files, binary.LittleEndian, struct {
			Size, Offset              uint32
			Folder, Date, Time, Flags uint16
		}{uint32(len(f.Data)), uint32(all.Len()), 0, dosDate(at), dosTime(at), 0x20})
		files.WriteString(names[i] + "\x00")
		all.Write(f.Data)
	}
	blocks, err := blocksOf(&data, all.Bytes(), level)
	if err != nil {
		return nil, err
	}
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
		DataAt: dataAt, Blocks: blocks, Compression: msZIP,
	})
	out.Write(files.Bytes())
	out.Write(data.Bytes())
	return out.Bytes(), nil
}

func blocksOf(out *bytes.Buffer, all []byte, level int) (n uint16, err error) {
	var before []byte
	for len(all) > 0 {
		block := all[:min(blockSize, len(all))]
		packed := bytes.NewBufferString("CK")
		w, err := flate.NewWriterDict(packed, level, before)
		if err == nil {
			_, err = w.Write(block)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return 0, err
		}
		if packed.Len() > maxPacked {
			packed.Truncate(len("CK"))
			stored(packed, block)
		}
		sizes := binary.LittleEndian.AppendUint16(nil, uint16(packed.Len()))
		sizes = binary.LittleEndian.AppendUint16(sizes, uint16(len(block)))
		_ = binary.Write(out, binary.LittleEndian, checksumOf(sizes, checksumOf(packed.Bytes(), 0)))
		out.Write(sizes)
		out.Write(packed.Bytes())
		before, all, n = block, all[len(block):], n+1
	}
	return n, nil
}

// stored writes a block as it is: what cannot be compressed takes more room in several parts than in one.
func stored(out *bytes.Buffer, block []byte) {
	const lastAndStored = 1
	out.WriteByte(lastAndStored)
	_ = binary.Write(out, binary.LittleEndian, []uint16{uint16(len(block)), ^uint16(len(block))})
	out.Write(block)
}

// checksumOf is that of a block: all words by exclusive or, the last bytes the other way round.
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

func dosDate(t time.Time) uint16 {
	year, month, day := t.Date()
	return uint16((year-1980)<<9 | int(month)<<5 | day)
}

func dosTime(t time.Time) uint16 { return uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2) }
