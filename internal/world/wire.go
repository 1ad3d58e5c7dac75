package world

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"sidetone/internal/memnet"
)

// spend spends a token as another agent of the same application: it connects to the socket and goes or,
// without a socket, posts only the head of a request.
func (k *client) spend() {
	k.spentAt = time.Now()
	hello := fmt.Sprintf(`{"v":1,"client_id":"%s"}`, clientID)
	hello = string(binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(hello)))) + hello
	request := "POST /rpc?v=1&client_id=" + clientID + " HTTP/1.1\r\n" +
		"Host: 127.0.0.1\r\nContent-Type: clientID/json\r\nContent-Length: 2\r\n\r\n"
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn, _, err := k.desk.agent.DialIPC(ctx, k.srv.IPCPath())
		first := hello
		if err != nil {
			first = request
			conn, err = k.desk.agent.DialPort(ctx, k.srv.Port())
		}
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte(first))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = conn.Read(make([]byte, 1))
	}()
}

// slowListener makes a program answer GET late.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &slowConn{Conn: c.(*memnet.Conn)}, nil
}

type slowConn struct {
	*memnet.Conn
	get atomic.Bool
}

func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if strings.HasPrefix(string(p[:n]), "GET / ") {
		c.get.Store(true)
	}
	return n, err
}

func (c *slowConn) Write(p []byte) (int, error) {
	if c.get.Swap(false) {
		time.Sleep(slowGet)
	}
	return c.Conn.Write(p)
}
