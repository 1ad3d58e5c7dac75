// Package linktest is what a server says on the wire, byte by byte, for tests of clients. It shares no code with package link.
package linktest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"

	"sidetone/internal/devices"
)

// The opcodes of the IPC transport (rule R73 of docs/protocol.md).
const (
	OpHandshake = iota
	OpFrame
	OpClose
	OpPing
	OpPong
)

// Command is SET_CERTIFIED_DEVICES as a client reads it.
type Command struct {
	Nonce string `json:"nonce"`
	Cmd   string `json:"cmd"`
	Args  struct {
		Devices []devices.Device `json:"devices"`
	} `json:"args"`
}

// Name is the Cmd of a Command.
const Name = "SET_CERTIFIED_DEVICES"

// Fingerprint is the client's answer over HTTP for every path that it does not know.
const Fingerprint = `{"code":0,"message":"Not Found"}`

// Frames is the server's end of an IPC socket.
type Frames struct {
	Conn net.Conn
	r    *bufio.Reader
}

// NewFrames reads and writes frames on conn.
func NewFrames(conn net.Conn) Frames { return Frames{conn, bufio.NewReader(conn)} }

// Next reads one frame.
func (f Frames) Next() (op uint32, body []byte, err error) {
	var header [8]byte
	if _, err := io.ReadFull(f.r, header[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.LittleEndian.Uint32(header[4:]))
	_, err = io.ReadFull(f.r, body)
	return binary.LittleEndian.Uint32(header[:]), body, err
}

// Send writes one frame.
func (f Frames) Send(op uint32, body []byte) error {
	header := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, op), uint32(len(body)))
	_, err := f.Conn.Write(append(header, body...))
	return err
}

// Switching is the answer to a WebSocket's handshake, with further header lines.
func Switching(req *http.Request, more string) string {
	sum := sha1.Sum([]byte(req.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n" + more + "\r\n"
}

// WebSocketFrame is one unmasked frame, as a server sends it.
func WebSocketFrame(opcode byte, payload []byte) []byte {
	if len(payload) > 125 {
		return append([]byte{0x80 | opcode, 126, byte(len(payload) >> 8), byte(len(payload))}, payload...)
	}
	return append([]byte{0x80 | opcode, byte(len(payload))}, payload...)
}

// Headset is a list with a headset of this mute. Its name is beyond ASCII.
func Headset(mute devices.Tri) devices.Snapshot {
	acme := devices.Company{Name: "Acme", URL: "https://acme.example"}
	model := devices.Company{Name: "Headset Ünïcode 🎧", URL: "https://acme.example/h"}
	return devices.Snapshot{Devices: []devices.Report{
		{Device: devices.Device{Type: devices.AudioOutput, ID: "Speaker", Vendor: acme, Model: model, Related: []string{"Mic"}}, Unit: "u"},
		{
			Device: devices.Device{
				Type: devices.AudioInput, ID: "Mic", Vendor: acme, Model: model, Related: []string{"Speaker"}, HardwareMute: mute.Ptr(),
			},
			Flags: map[devices.Field]devices.Flag{devices.HardwareMute: {Value: mute}}, Unit: "u",
		},
	}}
}
