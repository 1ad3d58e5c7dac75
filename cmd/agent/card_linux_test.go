package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab"
)

// recordedServer is a sound server that answers with what a real one has said of a USB headset, but for the lists that are left out.
type recordedServer struct {
	folder string
	mu     sync.Mutex
	empty  map[uint32]bool // by command
}

// Commands of the PulseAudio protocol, and the files of their answers.
const (
	auth, setClientName, listSinks, listSources = 8, 9, 22, 24
)

var recordedAnswers = map[uint32]string{20: "server.bin", listSinks: "sinks.bin", listSources: "sources.bin", 26: "modules.bin", 89: "cards.bin"}

// leaveOut makes lists empty from now on.
func (s *recordedServer) leaveOut(commands ...uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty = map[uint32]bool{}
	for _, c := range commands {
		s.empty[c] = true
	}
}

func (s *recordedServer) answer(command uint32) []byte {
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'L'}, n) }
	s.mu.Lock()
	defer s.mu.Unlock()
	switch file := recordedAnswers[command]; {
	case command == auth:
		return number(35)
	case command == setClientName:
		return number(7)
	case file != "" && !s.empty[command]:
		b, _ := os.ReadFile(filepath.Join(s.folder, file))
		return b
	}
	return nil
}

func (s *recordedServer) serve(conn net.Conn) {
	defer conn.Close()
	const headerSize, message = 20, 10 // of which the last: command and tag
	for {
		header := make([]byte, headerSize)
		if _, err := io.ReadFull(conn, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header))
		if _, err := io.ReadFull(conn, body); err != nil || len(body) < message {
			return
		}
		reply := append(append([]byte{'L', 0, 0, 0, 2}, body[5:message]...), s.answer(binary.BigEndian.Uint32(body[1:]))...)
		binary.BigEndian.PutUint32(header, uint32(len(reply)))
		if _, err := conn.Write(append(header, reply...)); err != nil {
			return
		}
	}
}

// The profile of a headset's card is off, or has outputs only: a running agent tells so.
func TestCardWithoutMicrophone(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	s := &recordedServer{folder: "../../internal/platform/audio/pulse/testdata/pulseaudio-usb"}
	s.leaveOut(listSinks, listSources)
	socket := filepath.Join(d.folder, "sound")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(conn) })
		}
	})
	d.env = append(d.env, "SIDETONE_SOURCES_PULSE_SERVER=unix:"+socket, "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false")
	d.start()
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, d.socket) })
	has := func(what string, reported, without int) (answer control.Devices) {
		t.Helper()
		testlab.Eventually(t, what, func() bool {
			var err error
			answer, err = client.Devices(d.ctx)
			return err == nil && len(answer.Reported) == reported && len(answer.WithoutMicrophone) == without
		})
		return answer
	}
	card := has("a card whose profile is off", 0, 1).WithoutMicrophone[0]
	require.Equal(t, []any{"1209", "0700", true, false}, []any{card.VID, card.PID, card.Sound, card.OutputsOnly})

	s.leaveOut(listSources)
	d.signal(syscall.SIGHUP)
	has("a card with outputs only", 1, 1)
	s.leaveOut()
	d.signal(syscall.SIGHUP)
	has("the headset", 2, 0)
}
