package pulse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"sidetone/internal/devices"
)

// Limits of what is accepted from a server. They are far above what real servers send.
const (
	maxString = 1 << 20 // bytes of one string or property value
	maxItems  = 1 << 16 // entries of one list, property list or port list
)

// The type tags of the wire format.
const (
	tagString     = 't'
	tagNullString = 'N'
	tagU32        = 'L'
	tagU8         = 'B'
	tagS64        = 'r'
	tagUsec       = 'U'
	tagSampleSpec = 'a'
	tagBlob       = 'x'
	tagTrue       = '1'
	tagFalse      = '0'
	tagChannelMap = 'm'
	tagCVolume    = 'v'
	tagVolume     = 'V'
	tagProps      = 'P'
	tagFormat     = 'f'
)

// decoder reads tagged values from one message. The first error sticks: every later read
// returns a zero value, so a parser checks err once, at its end or in its loops.
type decoder struct {
	b       []byte
	off     int
	version uint32 // negotiated protocol version
	err     error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: byte %d: %s", errMalformed, d.off, fmt.Sprintf(format, args...))
	}
}

// more reports whether a further value can be read.
func (d *decoder) more() bool { return d.err == nil && d.off < len(d.b) }

// next returns the following n bytes, or nil after an error.
func (d *decoder) next(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b)-d.off {
		d.fail("%d bytes missing", n-(len(d.b)-d.off))
		return nil
	}
	p := d.b[d.off : d.off+n]
	d.off += n
	return p
}

func (d *decoder) byte() byte {
	if p := d.next(1); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) tag(want byte) bool {
	if got := d.byte(); d.err == nil && got != want {
		d.fail("want type %q, got %q", want, got)
	}
	return d.err == nil
}

func (d *decoder) raw32() uint32 {
	if p := d.next(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if !d.tag(tagU32) {
		return 0
	}
	return d.raw32()
}

func (d *decoder) u8() byte {
	if !d.tag(tagU8) {
		return 0
	}
	return d.byte()
}

// skip skips values of the given types.
func (d *decoder) skip(tags ...byte) {
	for _, tag := range tags {
		switch tag {
		case tagString:
			d.str()
		case tagProps:
			d.props()
		default:
			if d.tag(tag) {
				d.next(d.readSize(tag))
			}
		}
	}
}

// readSize returns how many bytes of the value after a tag are left to read. It reads the number of channels, with which a list begins.
func (d *decoder) readSize(tag byte) int {
	switch tag {
	case tagU8:
		return 1
	case tagSampleSpec:
		return 6
	case tagS64, tagUsec:
		return 8
	case tagChannelMap:
		return int(d.byte())
	case tagCVolume:
		return 4 * int(d.byte())
	default:
		return 4
	}
}

func (d *decoder) bool() bool {
	switch got := d.byte(); {
	case d.err != nil:
	case got == tagTrue:
		return true
	case got != tagFalse:
		d.fail("want a boolean, got type %q", got)
	}
	return false
}

// str reads a string; the null string reads as "".
func (d *decoder) str() string {
	switch got := d.byte(); {
	case d.err != nil, got == tagNullString:
		return ""
	case got != tagString:
		d.fail("want a string, got type %q", got)
		return ""
	}
	return clean(d.cstring())
}

func (d *decoder) cstring() []byte {
	if d.err != nil {
		return nil
	}
	n := bytes.IndexByte(d.b[d.off:], 0)
	if n < 0 || n > maxString {
		d.fail("string without end or longer than %d bytes", maxString)
		return nil
	}
	p := d.next(n + 1)
	return p[:n]
}

func (d *decoder) blob() []byte {
	if !d.tag(tagBlob) {
		return nil
	}
	n := d.raw32()
	if n > maxString {
		d.fail("value of %d bytes, at most %d are accepted", n, maxString)
		return nil
	}
	return d.next(int(n))
}

// props reads a property list. Values are raw bytes on the wire, normally text with a final NUL.
func (d *decoder) props() map[string]string {
	if !d.tag(tagProps) {
		return nil
	}
	props := make(map[string]string)
	for range maxItems {
		switch got := d.byte(); {
		case d.err != nil:
			return nil
		case got == tagNullString:
			return props
		case got != tagString:
			d.fail("want a property name, got type %q", got)
			return nil
		}
		key := clean(d.cstring())
		size := d.u32()
		value := d.blob()
		if d.err == nil && int(size) != len(value) {
			d.fail("property %q: length %d announced, %d sent", key, size, len(value))
		}
		if d.err != nil {
			return nil
		}
		props[key] = clean(value)
	}
	d.fail("more than %d properties", maxItems)
	return nil
}

// count reads the length of a list that follows.
func (d *decoder) count() int {
	n := d.u32()
	if n > maxItems {
		d.fail("list of %d entries, at most %d are accepted", n, maxItems)
		return 0
	}
	return int(n)
}

// entries iterates over the list that follows, until an error: it reads its length first.
func (d *decoder) entries(yield func() bool) {
	for range d.count() {
		if d.err != nil || !yield() {
			return
		}
	}
}

func (d *decoder) skipFormats() {
	for range d.u8() {
		d.skipFormat()
	}
}

func (d *decoder) skipFormat() {
	if d.tag(tagFormat) {
		d.u8()
		d.props()
	}
}

// available maps the protocol's port state (0 unknown, 1 no, 2 yes).
func (d *decoder) available() devices.Tri {
	switch d.u32() {
	case 1:
		return devices.False
	case 2:
		return devices.True
	default:
		return devices.Unknown
	}
}

// clean makes text of bytes that a server or a device wrote: final NULs are cut, and what is
// not UTF-8, or is a NUL within, becomes U+FFFD, so that the text is safe in JSON and logs.
func clean(b []byte) string {
	s := strings.ToValidUTF8(string(bytes.TrimRight(b, "\x00")), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
