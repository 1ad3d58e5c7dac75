package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// A .deb is an ar archive of three members. Before each is a header: name, time, owner, group, mode and size, each padded with spaces.
const (
	arMagic  = "!<arch>\n"
	arHeader = 60 // bytes
	arSize   = 48 // where the size begins in a header
)

// compressDeb compresses the files in an uncompressed .deb by the system's xz: compressed by nfpm it would be half as large again.
func compressDeb(ctx context.Context, path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	body, is := bytes.CutPrefix(old, []byte(arMagic))
	if !is {
		return errors.New("no ar archive")
	}
	out := bytes.NewBufferString(arMagic)
	for len(body) >= arHeader {
		header, size := string(body[:arHeader]), 0
		if _, err := fmt.Sscan(header[arSize:arHeader-2], &size); err != nil || arHeader+size > len(body) {
			return fmt.Errorf("a member of an ar archive has no end: %q", header)
		}
		data := body[arHeader : arHeader+size]
		body = body[min(len(body), arHeader+size+size%2):]
		if name := strings.TrimRight(header[:16], " /"); name == "data.tar" {
			xz := exec.CommandContext(ctx, "xz", "-9e", "--threads=1", "--stdout")
			xz.Stdin, xz.Stderr = bytes.NewReader(data), os.Stderr
			if data, err = xz.Output(); err != nil {
				return fmt.Errorf("compress by xz: %w", err)
			}
			header = fmt.Sprintf("%-16s%s%-10d`\n", "data.tar.xz", header[16:arSize], len(data))
		}
		out.WriteString(header)
		out.Write(data)
		if len(data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
