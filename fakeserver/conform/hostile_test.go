package conform

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/memnet"
)

// impatient is for servers that do not answer.
var impatient = Options{Refill: 100 * time.Millisecond, Patience: time.Second}

// accept is what a WebSocket server answers to a key.
func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// upgrade answers the request for a WebSocket by hand. It reports false for
// any other request, which is not answered.
func upgrade(c net.Conn, extra string) bool {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || req.Header.Get("Upgrade") == "" {
		return false
	}
	_, err = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
		accept(req.Header.Get("Sec-WebSocket-Key")), extra)
	return err == nil
}

// head is the head of an unmasked WebSocket frame.
func head(first byte, size int) []byte {
	switch {
	case size < 126:
		return []byte{first, byte(size)}
	case size < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(size))
	}
	return binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(size))
}

func textFrame(text string) []byte { return append(head(0x81, len(text)), text...) }

// pour writes for ever, in bursts: virtual time passes only while nobody has anything to do.
func pour(c net.Conn, data string) {
	burst := []byte(strings.Repeat(data, max(1, 2<<10/len(data))))
	for {
		if _, err := c.Write(burst); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func httpAnswer(body string, header ...string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), strings.Join(header, ""), body)
}

// bombSize is how many blanks a bomb unpacks to, in MiB: far more than is ever read of an answer.
const bombSize = 50

// deflated is many blanks and a text, in next to nothing.
func deflated(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	require.NoError(t, err)
	pack := func(text []byte) []byte {
		b.Reset()
		_, err := w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		return bytes.Clone(b.Bytes())
	}
	blanks := bytes.Repeat(pack(bytes.Repeat([]byte(" "), 1<<20)), bombSize) // a block that was flushed may be repeated
	return bytes.TrimSuffix(append(blanks, pack([]byte(text))...), []byte{0, 0, 0xff, 0xff})
}

// gzipped is many blanks, in next to nothing.
func gzipped(t *testing.T) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(bytes.Repeat([]byte(" "), 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return strings.Repeat(b.String(), bombSize) // the members of a file follow each other
}

// eat reads the head of a request.
func eat(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

func TestHostileHTTP(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 1e5)
	bomb := gzipped(t)
	for _, c := range []struct {
		name  string
		serve func(net.Conn)
		root  string // outcome of GET /
		post  string // and of the POST
	}{
		{"never answers", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, silence, silence},
		{"closes at once", func(net.Conn) {}, hungUp, hungUp},
		{"resets", func(c net.Conn) { eat(c); _ = c.(*memnet.Conn).SetLinger(0) }, hungUp, hungUp},
		{"endless head", func(c net.Conn) { eat(c); pour(c, "HTTP/1.1 200 OK\r\n"); pour(c, "X: y\r\n") }, garbage, garbage},
		{"endless header", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"); pour(c, "X: y\r\n") }, tooLarge, tooLarge},
		{"endless line", func(c net.Conn) { eat(c); pour(c, "HTTP/1.1 200 ") }, tooLarge, tooLarge},
		{"endless body", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); pour(c, "xxxxxxxx") }, tooLarge, tooLarge},
		{"half a head", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, "HTTP/1.1 20"); _, _ = io.Copy(io.Discard, c) }, unfinished, unfinished},
		{"half a body", func(c net.Conn) {
			eat(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
			_, _ = io.Copy(io.Discard, c)
		}, unfinished, unfinished},
		{"cut body", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") }, unfinished, unfinished},
		{"binary", func(c net.Conn) { eat(c); _, _ = c.Write([]byte{0xff, 0, 0x1b, '\n', '\n'}) }, garbage, garbage},
		{"deep", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, httpAnswer(deep[:60<<10])) }, "200", "200"},
		{"not an object", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, httpAnswer("[1]")) }, "200", "200"},
		{"bomb", func(c net.Conn) { eat(c); _, _ = io.WriteString(c, httpAnswer(bomb, "Content-Encoding: gzip\r\n")) }, "200", "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				report := m.conform(t, Target{URL: m.tcp(t, c.serve)}, impatient)
				require.Equal(t, c.root, find(t, report, "http-root").Got)
				require.Equal(t, c.post, find(t, report, "http-empty-list").Got)
				require.Equal(t, Differs, find(t, report, "http-empty-list").Spec.Verdict)
				for _, check := range report.Checks {
					require.NotEqual(t, Same, check.Client.Verdict, "%s: %s", check.ID, check.Got)
				}
			})
		})
	}
}

func TestHostileWebSocket(t *testing.T) {
	t.Parallel()
	const hello = `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{}}`
	bomb := deflated(t, hello)
	const deflate = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"
	for _, c := range []struct {
		name    string
		extra   string
		send    func(net.Conn)
		connect string
		command string
	}{
		{"no READY", "", func(net.Conn) {}, openSilent, ""},
		{"large frame", "", func(c net.Conn) { _, _ = c.Write(append(head(0x81, 10<<20), make([]byte, 10<<20)...)) }, tooLarge, ""},
		{"half a frame", "", func(c net.Conn) { _, _ = c.Write(head(0x81, 100)) }, openSilent, ""},
		{"endless fragments", "", func(c net.Conn) {
			_, _ = c.Write(head(0x01, 0))
			pour(c, string(head(0, 1<<19))+strings.Repeat("x", 1<<19))
		}, tooLarge, ""},
		{"bad opcode", "", func(c net.Conn) { _, _ = c.Write([]byte{0x87, 0}) }, garbage, ""},
		{"masked frame", "", func(c net.Conn) { _, _ = c.Write([]byte{0x81, 0x80, 0, 0, 0, 0}) }, garbage, ""},
		{"deep", "", func(c net.Conn) { _, _ = c.Write(textFrame(strings.Repeat("[", 1e5))) }, "not READY", ""},
		{"bomb", deflate, func(c net.Conn) { _, _ = c.Write(append(head(0xc1, len(bomb)), bomb...)) }, tooLarge, ""},
		{"flood", "", func(c net.Conn) {
			_, _ = c.Write(textFrame(hello))
			pour(c, string(textFrame(`{"cmd":"DISPATCH","evt":"X"}`)))
		}, ready, silence},
		{"close without a code", "", func(c net.Conn) { _, _ = c.Write([]byte{0x88, 0}) }, hungUp, ""},
		{"odd close", "", func(c net.Conn) { _, _ = c.Write([]byte{0x88, 1, 7}) }, hungUp, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				url := m.tcp(t, func(conn net.Conn) {
					if upgrade(conn, c.extra) {
						c.send(conn)
						_, _ = io.Copy(io.Discard, conn)
					}
				})
				report := m.conform(t, Target{URL: url}, Options{Refill: 100 * time.Millisecond, Patience: 3 * time.Second})
				require.Equal(t, c.connect, find(t, report, "ws-no-origin").Got)
				require.Equal(t, c.command, find(t, report, "ws-no-origin-command").Got)
			})
		})
	}
	for name, c := range map[string]struct {
		send func(net.Conn)
		want string
	}{
		"bad key":      {func(c net.Conn) { _, _ = io.WriteString(c, "\r\n") }, "no WebSocket: 101"},
		"endless head": {func(c net.Conn) { pour(c, "X: y\r\n") }, tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				url := m.tcp(t, func(conn net.Conn) {
					eat(conn)
					_, _ = io.WriteString(conn, "HTTP/1.1 101 Yes\r\n")
					c.send(conn)
				})
				require.Equal(t, c.want, find(t, m.conform(t, Target{URL: url}, impatient), "ws-no-origin").Got)
			})
		})
	}
}

func TestHostileIPC(t *testing.T) {
	t.Parallel()
	frame := func(op uint32, size int, data string) string {
		b := binary.LittleEndian.AppendUint32(nil, op)
		return string(binary.LittleEndian.AppendUint32(b, uint32(size))) + data
	}
	const hello = `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":null}`
	for _, c := range []struct {
		name, says string
		pours      string
		hangsUp    bool
		want       string
	}{
		{"nothing", "", "", false, openSilent},
		{"hangs up", "", "", true, hungUp},
		{"half a head", "\x01", "", false, openSilent},
		{"half a frame", frame(1, 100, "{"), "", true, unfinished},
		{"giant frame", frame(1, 0x7fffffff, ""), "", false, tooLarge},
		{"negative length", frame(1, -1, ""), "", false, tooLarge},
		{"unknown opcode", frame(99, 2, "{}"), "", false, "not READY"},
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", "", true, tooLarge},
		{"deep", frame(1, 1e5, strings.Repeat("[", 1e5)), "", false, "not READY"},
		{"close without a code", frame(2, 2, "{}"), "", true, "close without a code"},
		{"close with nonsense", frame(2, 3, "\x1b[m"), "", true, "close without a code"},
		{"READY without a user", frame(1, len(hello), hello), "", false, ready},
		{"flood", frame(1, len(hello), hello), frame(3, 2, "{}"), false, ready},
	} {
		o := impatient
		o.All = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				path := m.ipc(t, func(conn net.Conn) {
					_, _ = io.ReadFull(conn, make([]byte, 8)) // of the handshake
					_, _ = io.WriteString(conn, c.says)
					switch {
					case c.pours != "":
						pour(conn, c.pours)
					case !c.hangsUp:
						_, _ = io.Copy(io.Discard, conn)
					}
				})
				report := m.conform(t, Target{IPC: path}, o)
				require.Equal(t, c.want, find(t, report, "ipc-handshake").Got)
				require.Zero(t, report.Spec().Same)
			})
		})
	}
}
