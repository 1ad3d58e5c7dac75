package page

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/ipctest"
)

func TestIPC(t *testing.T) {
	srv := client(t, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipctest.Folder(t)})
	b := open(t, show(t, srv), 360, "light")
	require.Equal(t, "desktop", b.Text(".fact.profile dd"))
	require.Equal(t, srv.IPCPath(), b.Text(".fact.socket dd"))
	say := dialIPC(t, srv)
	b.Shows(".who .pill", "Connected over IPC")
	say(list("1", headset(true)))
	b.Shows(".entry", "IPC")
	b.Shows(".notice", "Hardware muted")
}

// dialIPC connects to the IPC socket and reads READY. The function it returns
// sends a message and reads the answer.
func dialIPC(t *testing.T, srv *fakeserver.Server) (say func(text string)) {
	t.Helper()
	conn, err := ipctest.Dial(t.Context(), srv.IPCPath())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	say = func(text string) { t.Helper(); frame(t, conn, 1, text) }
	require.Contains(t, frame(t, conn, 0, `{"v":1,"client_id":"`+app+`"}`), "READY")
	return say
}

// frame sends one IPC frame and reads another.
func frame(t *testing.T, conn net.Conn, opcode uint32, text string) string {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, opcode)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(text)))
	_, err := conn.Write(append(data, text...))
	require.NoError(t, err)
	head := make([]byte, 8)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	body := make([]byte, binary.LittleEndian.Uint32(head[4:]))
	_, err = io.ReadFull(conn, body)
	require.NoError(t, err)
	return string(body)
}
