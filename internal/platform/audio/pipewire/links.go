// Package pipewire reads over PipeWire's own protocol which nodes are linked, and notices when a link has come or gone. The rest is told by
// the PulseAudio protocol, which PipeWire speaks too; but it has no event for a stream that records another source from now on, in no
// version up to 1.6, and it names only one source for a stream that records several.
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
	"strconv"
	"sync"
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
	conn net.Conn
	done chan struct{}
	err  error // why it has ended; to be read after done is closed

	mu    sync.Mutex
	links map[uint32]ends // by id: all that there are
}

// ends are the ids of the nodes that a link connects: sound goes from one to the other.
type ends struct{ from, to uint32 }

// ErrOther means that the server is not the one that was meant.
var ErrOther = errors.New("pipewire: the socket is that of another server")

// Watch connects to the server at socket, which must be the one with that cookie, and returns when it knows all links. It calls notify,
// which must not block, when one comes or goes after that, and when the connection has ended. ctx bounds the start only.
func Watch(ctx context.Context, socket string, cookie uint32, name string, notify func()) (*Links, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("pipewire: %w", err)
	}
	l := &Links{conn: conn, done: make(chan struct{}), links: make(map[uint32]ends)}
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

// start makes the server's acquaintance, and reads what it says until it answers that this is all.
func (l *Links) start(ctx context.Context, cookie uint32, name string) error {
	defer context.AfterFunc(ctx, func() { _ = l.conn.Close() })()
	const version, all = 3, 1 // all: the number of the question whether that was all; the server also says that it is done with the greeting
	hello := concat(
		message(core, methodHello, structOf(integer(version))),
		message(client, methodUpdateProperties, structOf(structOf(integer(1), text("application.name"), text(name)))),
		message(core, methodGetRegistry, structOf(integer(version), integer(registry))),
		message(core, methodSync, structOf(integer(core), integer(all))),
	)
	if _, err := l.conn.Write(hello); err != nil {
		return err
	}
	for known := false; ; {
		m, err := l.read()
		if err != nil {
			return err
		}
		switch {
		case m.object == core && m.opcode == eventInfo:
			if got, ok := m.integer(1); !ok || got != cookie {
				return ErrOther
			}
			known = true
		case m.object == core && m.opcode == eventDone && known:
			if number, _ := m.integer(1); number == all {
				return nil
			}
		}
		if _, err := l.handle(m); err != nil {
			return err
		}
	}
}

func (l *Links) follow(notify func()) error {
	for {
		m, err := l.read()
		if err != nil {
			return err
		}
		changed, err := l.handle(m)
		if err != nil {
			return err
		}
		if changed {
			notify()
		}
	}
}

// handle returns whether a link came or went.
func (l *Links) handle(m received) (changed bool, err error) {
	switch m.object {
	case core:
		return false, l.answer(m)
	case registry:
		return l.changedBy(m), nil
	}
	return false, nil
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
	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok := m.integer(0)
	if !ok {
		return false
	}
	_, was := l.links[id]
	delete(l.links, id) // in each case it is not what it was
	if fields := m.fields(); m.opcode == eventGlobal && len(fields) > 2 && fields[2].text() == "PipeWire:Interface:Link" {
		var e ends
		if len(fields) > 4 {
			e = ends{fields[4].number("link.output.node"), fields[4].number("link.input.node")}
		}
		l.links[id] = e
		return true
	}
	return was
}

// Into returns how many nodes are linked to the inputs of a node.
func (l *Links) Into(node uint32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := make(map[uint32]bool)
	for _, e := range l.links {
		if e.to == node {
			from[e.from] = true
		}
	}
	return len(from)
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
	methodHello, methodSync, methodPong, methodGetRegistry = 1, 2, 3, 5 // of the core
	methodUpdateProperties                                 = 2          // of the client
	eventInfo, eventDone, eventPing, eventError            = 0, 1, 2, 3 // of the core
	eventGlobal, eventGlobalRemove                         = 0, 1       // of the registry
	headerSize                                             = 16         // object, opcode and size, number, count of files
	maxBody                                                = 1 << 20    // of a message, in bytes; the largest seen has some thousands
)

// received is a message of the server. Its body is a struct.
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

// fields returns the fields of the struct.
func (m received) fields() []value {
	if all := values(m.body); len(all) > 0 && all[0].kind == typeStruct {
		return values(all[0].content)
	}
	return nil
}

// integer returns the field at index i of the struct, if that is an integer.
func (m received) integer(i int) (v uint32, ok bool) {
	fields := m.fields()
	if i >= len(fields) || fields[i].kind != typeInt || len(fields[i].content) != 4 {
		return 0, false
	}
	return binary.NativeEndian.Uint32(fields[i].content), true
}

// value is an encoded value of a type.
type value struct {
	kind    uint32
	content []byte
}

// values decodes values that follow each other: size, type, content, padding to 8 bytes. One that is cut off is left out.
func values(b []byte) (all []value) {
	for len(b) >= 8 {
		size, kind := uint64(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		b = b[8:]
		if size > uint64(len(b)) {
			return all
		}
		all = append(all, value{kind, b[:size]})
		b = b[min((size+7)/8*8, uint64(len(b))):]
	}
	return all
}

// text returns the text of a string; "" if it is none.
func (v value) text() string {
	if v.kind != typeString {
		return ""
	}
	text, _, _ := bytes.Cut(v.content, []byte{0})
	return string(text)
}

// number returns the number that a key has in a dictionary: a struct of a count, and of keys and values in turn. 0: it has none.
func (v value) number(key string) uint32 {
	all := values(v.content)
	for i := 1; i+1 < len(all); i += 2 {
		if all[i].text() == key {
			n, _ := strconv.ParseUint(all[i+1].text(), 10, 32)
			return uint32(n)
		}
	}
	return 0
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
