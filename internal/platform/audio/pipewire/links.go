// Package pipewire notices over PipeWire's own protocol that a link between two nodes has come or gone. The rest is told by the PulseAudio
// protocol, which PipeWire speaks too; but it has no event for a stream that records another source from now on, in no version up to 1.6.
package pipewire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
)

// Socket returns the path of the socket that a program of this environment would use; "" if that is unknown or not of this machine's files.
func Socket(getenv func(string) string) string {
	remote := getenv("PIPEWIRE_REMOTE")
	if remote == "" {
		remote = "pipewire-0"
	}
	if filepath.IsAbs(remote) {
		return remote
	}
	for _, name := range []string{"PIPEWIRE_RUNTIME_DIR", "XDG_RUNTIME_DIR"} {
		if folder := getenv(name); folder != "" {
			return filepath.Join(folder, remote)
		}
	}
	return ""
}

// Links is a connection that tells of links.
type Links struct {
	conn  net.Conn
	done  chan struct{}
	err   error           // why it has ended; to be read after done is closed
	links map[uint32]bool // ids of all links
}

// ErrOther means that the server is not the one that was meant.
var ErrOther = errors.New("pipewire: the socket is that of another server")

// Watch connects to the server at socket, which must be the one with that cookie. It calls notify, which must not block, when a link has
// come or gone, also for each that is there already, and when the connection has ended. ctx bounds the start only.
func Watch(ctx context.Context, socket string, cookie uint32, name string, notify func()) (*Links, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("pipewire: %w", err)
	}
	l := &Links{conn: conn, done: make(chan struct{}), links: make(map[uint32]bool)}
	if err := l.start(ctx, cookie, name); err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("pipewire: %s: %w", socket, err)
	}
	go func() {
		defer notify()
		defer close(l.done)
		l.err = l.follow(notify)
	}()
	return l, nil
}

// start makes the server's acquaintance.
func (l *Links) start(ctx context.Context, cookie uint32, name string) error {
	defer context.AfterFunc(ctx, func() { _ = l.conn.Close() })()
	const version = 3
	hello := concat(
		message(core, methodHello, structOf(integer(version))),
		message(client, methodUpdateProperties, structOf(structOf(integer(1), text("application.name"), text(name)))),
		message(core, methodGetRegistry, structOf(integer(version), integer(registry))),
	)
	if _, err := l.conn.Write(hello); err != nil {
		return err
	}
	for {
		m, err := l.read()
		if err != nil {
			return err
		}
		if m.object != core || m.opcode != eventInfo {
			continue
		}
		if got, ok := m.integer(1); !ok || got != cookie {
			return ErrOther
		}
		return nil
	}
}

func (l *Links) follow(notify func()) error {
	for {
		m, err := l.read()
		if err != nil {
			return err
		}
		switch m.object {
		case core:
			err = l.answer(m)
		case registry:
			if l.changedBy(m) {
				notify()
			}
		}
		if err != nil {
			return err
		}
	}
}

// answer minds what the server says of the conversation itself.
func (l *Links) answer(m received) error {
	switch m.opcode {
	case eventError:
		return errors.New("the server ends the conversation")
	case eventPing:
		id, _ := m.integer(0)
		seq, _ := m.integer(1)
		_, err := l.conn.Write(message(core, methodPong, structOf(integer(id), integer(seq))))
		return err
	}
	return nil
}

// changedBy reports whether a link came or went.
func (l *Links) changedBy(m received) bool {
	id, ok := m.integer(0)
	switch {
	case !ok:
		return false
	case m.opcode == eventGlobal && bytes.Contains(m.body, []byte("PipeWire:Interface:Link\x00")):
		l.links[id] = true
		return true
	case m.opcode == eventGlobalRemove && l.links[id]:
		delete(l.links, id)
		return true
	}
	return false
}

// Err returns why the connection has ended; nil while it has not.
func (l *Links) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Close ends the connection.
func (l *Links) Close() error {
	err := l.conn.Close()
	<-l.done
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// The objects of each conversation, and one that the agent makes.
const core, client, registry = 0, 1, 2

// The numbers of methods and events.
const (
	methodHello, methodPong, methodGetRegistry = 1, 3, 5 // of the core
	methodUpdateProperties                     = 2       // of the client
	eventInfo, eventPing, eventError           = 0, 2, 3 // of the core
	eventGlobal, eventGlobalRemove             = 0, 1    // of the registry
	headerSize                                 = 16      // object, opcode and size, number, count of files
	maxBody                                    = 1 << 20 // of a message, in bytes; the largest seen has some thousands
)

// received is a message of the server. Its body is a struct, of which only the integers at its start are of interest.
type received struct {
	object, opcode uint32
	body           []byte
}

func (l *Links) read() (received, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(l.conn, header[:]); err != nil {
		return received{}, err
	}
	word := binary.NativeEndian.Uint32(header[4:])
	m := received{object: binary.NativeEndian.Uint32(header[:]), opcode: word >> 24}
	size := word & 0xffffff
	if size > maxBody {
		return received{}, fmt.Errorf("a message of %d bytes is too large", size)
	}
	m.body = make([]byte, size)
	_, err := io.ReadFull(l.conn, m.body)
	return m, err
}

// integer returns the field at index i of the struct, if that and all before it are integers.
func (m received) integer(i int) (value uint32, ok bool) {
	const structHeader, field = 8, 16 // size and type; size, type, value, padding
	end := structHeader + (i+1)*field
	if len(m.body) < end {
		return 0, false
	}
	for at := structHeader; at < end; at += field {
		if binary.NativeEndian.Uint32(m.body[at:]) != 4 || binary.NativeEndian.Uint32(m.body[at+4:]) != typeInt {
			return 0, false
		}
		value = binary.NativeEndian.Uint32(m.body[at+8:])
	}
	return value, true
}

// The types of values.
const typeInt, typeString, typeStruct = 4, 8, 14

func message(object, opcode uint32, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, object)
	b = binary.NativeEndian.AppendUint32(b, opcode<<24|uint32(len(body)))
	return append(append(b, make([]byte, 8)...), body...)
}

// pod encodes a value: size, type, content, padding to 8 bytes.
func pod(kind uint32, content []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(content)))
	b = append(binary.NativeEndian.AppendUint32(b, kind), content...)
	return append(b, make([]byte, (8-len(content)%8)%8)...)
}

func integer(v uint32) []byte          { return pod(typeInt, binary.NativeEndian.AppendUint32(nil, v)) }
func text(s string) []byte             { return pod(typeString, append([]byte(s), 0)) }
func structOf(values ...[]byte) []byte { return pod(typeStruct, concat(values...)) }
func concat(parts ...[]byte) []byte    { return bytes.Join(parts, nil) }
