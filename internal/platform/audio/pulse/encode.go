package pulse

import (
	"encoding/binary"
	"maps"
	"slices"
)

// encoder appends tagged values.
type encoder struct{ b []byte }

func (e *encoder) raw32(v uint32) { e.b = binary.BigEndian.AppendUint32(e.b, v) }

func (e *encoder) u32(v uint32) {
	e.b = append(e.b, tagU32)
	e.raw32(v)
}

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, tagTrue)
		return
	}
	e.b = append(e.b, tagFalse)
}

// str appends s, or the null string if s is empty.
func (e *encoder) str(s string) {
	if s == "" {
		e.b = append(e.b, tagNullString)
		return
	}
	e.b = append(append(append(e.b, tagString), s...), 0)
}

func (e *encoder) blob(p []byte) {
	e.b = append(e.b, tagBlob)
	e.raw32(uint32(len(p)))
	e.b = append(e.b, p...)
}

func (e *encoder) props(props map[string]string) {
	e.b = append(e.b, tagProps)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		value := append([]byte(props[k]), 0)
		e.str(k)
		e.u32(uint32(len(value)))
		e.blob(value)
	}
	e.b = append(e.b, tagNullString)
}

// message appends one whole control message: header, command, tag, arguments.
func (e *encoder) message(command, tag uint32, args func(*encoder)) {
	start := len(e.b)
	e.b = append(e.b, make([]byte, headerSize)...)
	e.u32(command)
	e.u32(tag)
	if args != nil {
		args(e)
	}
	h := e.b[start:]
	binary.BigEndian.PutUint32(h, uint32(len(h)-headerSize))
	binary.BigEndian.PutUint32(h[4:], controlChannel)
}
