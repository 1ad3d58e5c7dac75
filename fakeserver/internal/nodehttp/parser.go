// Package nodehttp reads HTTP requests as the parser of Node.js does, on which the real client runs (rule R94). It is stricter
// than net/http in most points, and more lenient in some.
//
// It was compared with Node.js 20, 22 and 24. Where they differ it does what the newer ones do.
package nodehttp

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

const (
	// maxCounted is how many bytes the path, the names and the values of a request may have in total, exclusive.
	maxCounted = 16 << 10
	// maxFields is how many fields the head of a request may have.
	maxFields = 1000
)

// What a refused connection is sent before it ends.
const (
	BadRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
	TooLarge   = "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"
)

// A Refusal says why a connection ends.
type Refusal struct {
	Answer string // [BadRequest], [TooLarge], or "" for none
	Reason string
	Method string // of the request, as far as it came
	Target string // of the request, as far as it came
}

// A state handles one byte and returns the next state; nil refuses the connection.
type state func(p *Parser, b byte) state

// A Parser turns what comes on a connection into requests that net/http takes for the same, in canonical form.
// After an upgrade it passes everything on, except for what the library of the client for WebSockets refuses and
// others do not. The zero value is not usable, see [New].
type Parser struct {
	state state
	out   []byte
	left  uint64 // bytes that are passed on before the next state
	why   Refusal
	head  head
	field field  // that is being read
	word  []byte // the method, version or size of a chunk, as far as it came
	frame []byte // the head of a frame, as far as it came
}

// A head is that of one request.
type head struct {
	method    string
	target    []byte
	version   string // "1.1", "1.0", "0.9" or "2.0"
	fields    []field
	counted   int // bytes
	count     int // of all fields, those that are not kept, too
	length    uint64
	trailing  bool // its body has ended
	hasHost   bool
	hasLength bool
	encoded   bool // it has a Transfer-Encoding
	chunked   bool // which ends in chunked
	upgrade   bool // it has an Upgrade
	options   []string
}

type field struct{ name, value []byte }

// New returns a parser for a new connection.
func New() *Parser { return &Parser{state: begin} }

// Feed reads what came next on the connection. It returns what net/http shall read instead, which is valid until the next
// call. After a refusal nothing may be fed; what came with it is dropped.
func (p *Parser) Feed(data []byte) ([]byte, *Refusal) {
	p.out = p.out[:0]
	for len(data) > 0 {
		if p.left > 0 {
			n := int(min(p.left, uint64(len(data))))
			p.out = append(p.out, data[:n]...)
			data, p.left = data[n:], p.left-uint64(n)
			continue
		}
		p.state = p.state(p, data[0])
		if p.state == nil {
			p.why.Method, p.why.Target = p.head.method, string(p.head.target)
			return nil, &p.why
		}
		data = data[1:]
	}
	return p.out, nil
}

func (p *Parser) refuse(reason string) state {
	p.why = Refusal{Answer: BadRequest, Reason: reason}
	return nil
}

// count counts a byte of a path, name or value.
func (p *Parser) count(next state) state {
	p.head.counted++
	if p.head.counted >= maxCounted {
		p.why = Refusal{Answer: TooLarge, Reason: "path, names and values of the head have 16 KiB or more"}
		return nil
	}
	return next
}

// expect is the state in which only one byte is allowed.
func expect(want byte, reason string, next state) state {
	return func(p *Parser, b byte) state {
		if b != want {
			return p.refuse(reason)
		}
		return next
	}
}

// endOfLine is the state after a carriage return.
func endOfLine(next func(p *Parser) state) state {
	return func(p *Parser, b byte) state {
		if b != '\n' {
			return p.refuse("a carriage return without a line feed")
		}
		return next(p)
	}
}

const bareLineFeed = "a line that ends in a bare line feed"

// methods are the requests that Node.js knows, without those of other protocols.
var methods = strings.Fields("DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK " +
	"BIND REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE MKCALENDAR LINK " +
	"UNLINK SOURCE QUERY")

// begin is before a request.
func begin(p *Parser, b byte) state {
	if b == '\r' || b == '\n' {
		return begin
	}
	p.head, p.word = head{}, p.word[:0]
	return method(p, b)
}

func method(p *Parser, b byte) state {
	word := string(p.word)
	if b == ' ' && slices.Contains(methods, word) {
		p.head.method = word
		return beforeTarget
	}
	p.word = append(p.word, b)
	word = string(p.word)
	if !slices.ContainsFunc(methods, func(m string) bool { return strings.HasPrefix(m, word) }) {
		return p.refuse("an unknown method, or no HTTP at all")
	}
	return method
}

func beforeTarget(p *Parser, b byte) state {
	switch {
	case b == ' ':
		return beforeTarget
	case p.head.method == "CONNECT":
		return authority(p, b)
	case b == '/' || b == '*':
		return p.targetByte(b, path)
	case isLetter(b):
		return p.targetByte(b, scheme)
	}
	return p.refuse("a path that does not begin with a slash")
}

func (p *Parser) targetByte(b byte, next state) state {
	p.head.target = append(p.head.target, b)
	return p.count(next)
}

func scheme(p *Parser, b byte) state {
	switch {
	case isLetter(b):
		return p.targetByte(b, scheme)
	case b == ':':
		slash := func(next state) state {
			return func(p *Parser, b byte) state {
				if b != '/' {
					return p.refuse("an address without two slashes")
				}
				return p.targetByte(b, next)
			}
		}
		return p.targetByte(b, slash(slash(authority)))
	}
	return p.refuse("a path that does not begin with a slash")
}

func authority(p *Parser, b byte) state {
	switch {
	case b == '/':
		return p.targetByte(b, path)
	case b == '?':
		return p.targetByte(b, query)
	case b == '@' && bytes.IndexByte(p.head.target, '@') >= 0:
		return p.refuse("an address with two @")
	case isLetter(b) || isDigit(b) || strings.IndexByte("-_.!~*'()%;:&=+$,[]@", b) >= 0:
		return p.targetByte(b, authority)
	}
	return p.endTarget(b)
}

func path(p *Parser, b byte) state {
	switch {
	case b == '?':
		return p.targetByte(b, query)
	case b > ' ' && b < 0x7f:
		return p.targetByte(b, path)
	}
	return p.endTarget(b)
}

func query(p *Parser, b byte) state {
	if b > ' ' && b < 0x7f {
		return p.targetByte(b, query)
	}
	return p.endTarget(b)
}

func (p *Parser) endTarget(b byte) state {
	p.word = p.word[:0]
	switch b {
	case ' ':
		return beforeVersion
	case '\r':
		p.head.version = "0.9"
		return endOfLine(func(*Parser) state { return beginField })
	}
	return p.refuse("a character in the path that has to be escaped")
}

func beforeVersion(p *Parser, b byte) state {
	if b == ' ' {
		return beforeVersion
	}
	return version(p, b)
}

// versions are what may follow the path.
var versions = []string{"HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0"}

func version(p *Parser, b byte) state {
	word := string(append(p.word, b))
	p.word = append(p.word, b)
	switch {
	case !slices.ContainsFunc(versions, func(v string) bool { return strings.HasPrefix(v, word) }):
		return p.refuse("another version than HTTP/1.1")
	case len(word) == len("HTTP/1.1"):
		p.head.version = strings.TrimPrefix(word, "HTTP/")
		return expect('\r', bareLineFeed, endOfLine(func(*Parser) state { return beginField }))
	}
	return version
}

func beginField(p *Parser, b byte) state {
	p.field = field{}
	switch b {
	case '\r':
		return endOfLine((*Parser).endHead)
	case '\n':
		return p.refuse(bareLineFeed)
	case ' ', '\t':
		return p.refuse("a field that goes on in the next line")
	case ':':
		return p.refuse("a field without a name")
	}
	return fieldName(p, b)
}

func fieldName(p *Parser, b byte) state {
	switch {
	case b == ':':
		return beforeValue
	case isToken(b):
		p.field.name = append(p.field.name, b)
		return p.count(fieldName)
	}
	return p.refuse("a character that the name of a field cannot have")
}

func beforeValue(p *Parser, b byte) state {
	if b == ' ' || b == '\t' {
		return beforeValue
	}
	return fieldValue(p, b)
}

func fieldValue(p *Parser, b byte) state {
	switch {
	case b == '\r':
		return endOfLine((*Parser).endField)
	case b == '\n':
		return p.refuse(bareLineFeed)
	case b == '\t' || b >= ' ' && b != 0x7f:
		p.field.value = append(p.field.value, b)
		return p.count(fieldValue)
	}
	return p.refuse("a control character in a field")
}

// endField is called at the end of each field of a head or trailer.
func (p *Parser) endField() state {
	h := &p.head
	value := string(bytes.TrimRight(p.field.value, " ")) // a tab is a part of the value
	switch strings.ToLower(string(p.field.name)) {
	case "content-length":
		n, ok := number(value, 10)
		switch {
		case h.hasLength:
			return p.refuse("Content-Length twice")
		case h.encoded:
			return p.refuse("Content-Length beside Transfer-Encoding")
		case !ok:
			return p.refuse("a Content-Length that is no number")
		}
		h.hasLength, h.length = true, n
	case "transfer-encoding":
		if h.hasLength {
			return p.refuse("Content-Length beside Transfer-Encoding")
		}
		for coding := range strings.SplitSeq(value, ",") {
			if h.chunked {
				return p.refuse("a Transfer-Encoding after chunked")
			}
			h.encoded, h.chunked = true, strings.EqualFold(strings.Trim(coding, " "), "chunked")
		}
	case "host":
		h.hasHost = true
	case "connection":
		for option := range strings.SplitSeq(value, ",") {
			h.options = append(h.options, strings.ToLower(strings.Trim(option, " ")))
		}
	case "upgrade":
		h.upgrade = h.upgrade || value != ""
		fallthrough
	default:
		h.fields = append(h.fields, p.field)
	}
	h.count++
	if h.count > maxFields {
		p.why = Refusal{Answer: TooLarge, Reason: "a head of more than 1000 fields"}
		return nil
	}
	return beginField
}

// endHead is called at the end of a head or trailer.
func (p *Parser) endHead() state {
	h := &p.head
	upgrades := h.upgrade && slices.Contains(h.options, "upgrade")
	switch {
	case h.trailing:
		p.out = append(p.out, "0\r\n\r\n"...)
		return p.endMessage()
	case h.method == "CONNECT":
		p.why = Refusal{Reason: "CONNECT: closed without an answer"}
		return nil
	case upgrades:
		p.out = h.write(p.out, true)
		return beginFrame
	case h.encoded && !h.chunked:
		return p.refuse("a Transfer-Encoding whose last one is not chunked")
	}
	p.out = h.write(p.out, false)
	if h.chunked {
		h.trailing = true
		return beginChunk
	}
	p.left = h.length
	return p.endMessage()
}

func (p *Parser) endMessage() state {
	if p.head.keepsAlive() {
		return begin
	}
	return ended
}

// ended is after the last request of a connection.
func ended(p *Parser, b byte) state {
	if b == '\r' || b == '\n' {
		return ended
	}
	return p.refuse("data after the last request of the connection")
}

func beginChunk(p *Parser, b byte) state {
	p.word = p.word[:0]
	if !isHex(b) {
		return p.refuse("a chunk without a size")
	}
	return chunkSize(p, b)
}

func chunkSize(p *Parser, b byte) state {
	switch {
	case isHex(b):
		p.word = append(bytes.TrimLeft(p.word, "0"), b)
		if len(p.word) > 16 {
			return p.refuse("a chunk that is too large")
		}
		return chunkSize
	case b == ';':
		return beginExtension
	case b == '\r':
		return endOfLine((*Parser).endChunkSize)
	}
	return p.refuse("a character behind the size of a chunk")
}

func (p *Parser) endChunkSize() state {
	size, _ := number(string(p.word), 16)
	if size == 0 {
		return beginField // of the trailer
	}
	p.out = append(append(p.out, p.word...), "\r\n"...)
	p.left = size
	return expect('\r', "a chunk that is longer than its size", endOfLine(func(p *Parser) state {
		p.out = append(p.out, "\r\n"...)
		return beginChunk
	}))
}

// Extensions of a chunk mean nothing to anybody. They are dropped.
func beginExtension(p *Parser, b byte) state {
	if !isToken(b) {
		return p.refuse("an extension of a chunk without a name")
	}
	return extension
}

func extension(p *Parser, b byte) state {
	switch {
	case b == '=':
		return beginExtensionValue
	case isToken(b):
		return extension
	}
	return p.endExtension(b)
}

func beginExtensionValue(p *Parser, b byte) state {
	if b == '"' {
		return quoted
	}
	return extensionValue(p, b)
}

func extensionValue(p *Parser, b byte) state {
	if isToken(b) {
		return extensionValue
	}
	return p.endExtension(b)
}

func quoted(p *Parser, b byte) state {
	switch b {
	case '"':
		return (*Parser).endExtension
	case '\\':
		return func(p *Parser, b byte) state { return quotedByte(p, b) }
	}
	return quotedByte(p, b)
}

func quotedByte(p *Parser, b byte) state {
	if b == '\t' || b >= ' ' && b != 0x7f {
		return quoted
	}
	return p.refuse("a control character in an extension of a chunk")
}

func (p *Parser) endExtension(b byte) state {
	switch b {
	case ';':
		return beginExtension
	case '\r':
		return endOfLine((*Parser).endChunkSize)
	}
	return p.refuse("a character that an extension of a chunk cannot have")
}

// number reads a number that consists of digits only.
func number(text string, base uint64) (n uint64, ok bool) {
	for _, c := range []byte(text) {
		digit := uint64(strings.IndexByte("0123456789abcdef", c|0x20)) // what is none is far too large
		if digit >= base || n > (math.MaxUint64-digit)/base {
			return 0, false
		}
		n = n*base + digit
	}
	return n, text != ""
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isHex(b byte) bool    { return isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' }

func isToken(b byte) bool {
	return isLetter(b) || isDigit(b) || b != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}
