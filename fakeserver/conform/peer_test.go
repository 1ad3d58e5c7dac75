package conform

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A peer is a server that shares nothing with fakeserver and has habits of its
// own: it answers POSTs with 200 and an object as data, takes any version and
// encoding, closes a WebSocket with 1008 on what it cannot read, knows no
// related, keeps every list it can read, and has no limit on requests.
type peer struct {
	rude bool // hangs up a WebSocket instead of refusing a command

	mu    sync.Mutex
	kept  string // the devices of the last list
	lists int
}

func (p *peer) devices() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// answer is what the peer says to a command; "" when it cannot read it.
func (p *peer) answer(text []byte, data string) string {
	var m struct {
		Nonce any
		Cmd   string
		Args  struct{ Devices []struct{ ID, Type any } }
	}
	if json.Unmarshal(text, &m) != nil {
		return ""
	}
	reply := func(evt, data string) string {
		nonce, _ := json.Marshal(m.Nonce)
		return fmt.Sprintf(`{"cmd":%q,"evt":%s,"data":%s,"nonce":%s}`, m.Cmd, evt, data, nonce)
	}
	if m.Cmd != setDevices {
		return reply(`"ERROR"`, `{"code":4002,"message":"no such thing"}`)
	}
	for _, d := range m.Args.Devices {
		if d.ID == nil || d.ID == "" {
			return reply(`"ERROR"`, `{"code":5000,"message":"id?"}`)
		}
	}
	list, _ := json.Marshal(m.Args.Devices)
	p.mu.Lock()
	p.kept = string(list)
	p.lists++
	p.mu.Unlock()
	return reply("null", data)
}

func (p *peer) tcp(c net.Conn) {
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	say := func(status int, body string) {
		fmt.Fprintf(c, "HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	switch {
	case req.Header.Get("Upgrade") != "":
		fmt.Fprintf(c, "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept(req.Header.Get("Sec-WebSocket-Key")))
		p.socket(c, r, req)
	case req.Method == http.MethodPost:
		body, _ := io.ReadAll(req.Body)
		if text := p.answer(body, "{}"); text != "" {
			say(200, text)
		} else {
			say(500, "what?")
		}
	case req.URL.Path == "/rpc":
		say(405, `{"code":405}`)
	default:
		say(404, `{"code": 0, "message": "Not Found"}`)
	}
}

func (p *peer) socket(c net.Conn, r *bufio.Reader, req *http.Request) {
	bye := func(code uint16) { _, _ = c.Write(binary.BigEndian.AppendUint16(head(0x88, 2), code)) }
	if req.Header.Get("Origin") != "" {
		bye(4001)
		return
	}
	_, _ = c.Write(textFrame(`{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1}}`))
	for {
		op, text, err := readMasked(r)
		if err != nil || op == 8 {
			return
		}
		reply := p.answer(text, "null")
		if p.rude && strings.Contains(reply, "ERROR") {
			return
		}
		if op != 1 || reply == "" {
			bye(1008)
			return
		}
		_, _ = c.Write(textFrame(reply))
	}
}

// readMasked reads one frame of a WebSocket client.
func readMasked(r io.Reader) (op byte, data []byte, err error) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(r, b)
		}
		return b
	}
	first := read(2)
	size := int(first[1] & 0x7f)
	if size == 126 {
		size = int(binary.BigEndian.Uint16(read(2)))
	}
	mask := read(4)
	data = read(size)
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return first[0] & 0xf, data, err
}

func (p *peer) ipc(c net.Conn) {
	send := func(op uint32, text string) {
		b := binary.LittleEndian.AppendUint32(nil, op)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
		_, _ = c.Write(append(b, text...))
	}
	for {
		var h [8]byte
		if _, err := io.ReadFull(c, h[:]); err != nil {
			return
		}
		length := int64(binary.LittleEndian.Uint32(h[4:]))
		data, err := io.ReadAll(io.LimitReader(c, length)) // a length that nobody means costs nothing
		if err != nil || int64(len(data)) < length {
			return
		}
		switch h[0] {
		case 0:
			if strings.Contains(string(data), "conform") {
				send(2, `{"code":4007,"message":"who?"}`)
				return
			}
			send(1, `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"user":null}}`)
		case 1:
			if text := p.answer(data, "null"); text != "" {
				send(1, text)
			}
		case 3:
			send(4, "{}")
		default:
			return
		}
	}
}

func TestAServerNobodyHereWrote(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		p := &peer{}
		target := Target{URL: m.tcp(t, p.tcp), IPC: m.ipc(t, p.ipc)}
		began := time.Now()
		report := m.conform(t, target, Options{All: true, Refill: time.Hour, Patience: 2 * time.Second})
		require.Less(t, time.Since(began), time.Hour, "there is no rate limit to wait for")
		golden(t, "peer", masked(table(report)))
		require.Equal(t, "[]", p.devices(), "no device of a check is left")
		require.Greater(t, p.lists, 10)
	})
}

func TestAConnectionThatIsEndedIsOpenedAnew(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		o := Options{All: true, Refill: time.Minute, Patience: 2 * time.Second}
		p := &peer{rude: true}
		report := m.conform(t, Target{URL: m.tcp(t, p.tcp)}, o)
		for _, id := range []string{"payload-id-empty", "payload-id-missing", "payload-id-null"} {
			require.Equal(t, hungUp, find(t, report, id).Got, id)
		}
		require.Equal(t, success, find(t, report, "payload-vendor-missing").Got)
		require.Equal(t, "[]", p.devices())

		o.All = false
		report = m.conform(t, Target{URL: m.tcp(t, p.tcp)}, o)
		require.Equal(t, hungUp, find(t, report, "payload-id-empty").Got)
		require.Equal(t, needsAll, find(t, report, "payload-id-missing").Why, "a new connection costs a third token")
		require.Equal(t, "[]", p.devices(), "which is paid to leave nothing behind")
		require.Empty(t, report.Notes)
	})
}

// masked hides the outcome that depends on who is faster.
func masked(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "ws-early-frame"):
			lines[i] = "ws-early-frame: lost, or READY came first"
		case strings.HasPrefix(line, "behaves like"):
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
