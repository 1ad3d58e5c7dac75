//go:build vmtest

package guest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidetone/internal/testlab"

	"github.com/jfreymuth/pulse/proto"
	"github.com/stretchr/testify/require"
)

// soundServer is one connection to the sound server for all tests. Each further client, a run of pactl for instance, makes
// PipeWire 0.3 read the parameters of all cards again; if that meets WirePlumber's set-up of a new card, the card can be left
// without profiles for good.
type soundServer struct {
	conn   net.Conn
	client *proto.Client
}

func dialSoundServer() (*soundServer, error) {
	conn, err := net.Dial("unix", filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "pulse/native"))
	if err != nil {
		return nil, err
	}
	client := &proto.Client{Callback: func(any) {}}
	client.SetTimeout(patience)
	client.Open(conn)
	const cookieSize = 256 // any cookie will do for the server's own user
	var auth proto.AuthReply
	err = client.Request(&proto.Auth{Version: client.Version(), Cookie: make([]byte, cookieSize)}, &auth)
	if err == nil {
		client.SetVersion(auth.Version)
		name := proto.PropList{"application.name": proto.PropListString("vmtest")}
		err = client.Request(&proto.SetClientName{Props: name}, &proto.SetClientNameReply{})
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in to the sound server: %w", err)
	}
	return &soundServer{conn, client}, nil
}

func (s *soundServer) close() error { return s.conn.Close() }

// A stream is what the sound server calls a source or a sink.
type stream struct {
	name        string
	description string
	mute        bool
	properties  proto.PropList
}

func (s stream) property(name string) string { return s.properties[name].String() }

// sources are the sources that belong to d, without monitors. Identical devices differ in nothing but their place in sysfs.
func (d *device) sources() []stream {
	d.t.Helper()
	var reply proto.GetSourceInfoListReply
	require.NoError(d.t, bench.sound.client.Request(&proto.GetSourceInfoList{}, &reply))
	var own []stream
	for _, s := range reply {
		if d.owns(s.Properties) && s.MonitorSourceName == "" {
			own = append(own, stream{s.SourceName, s.Device, s.Mute, s.Properties})
		}
	}
	return own
}

// sinks are the sinks that belong to d.
func (d *device) sinks() []stream {
	d.t.Helper()
	var reply proto.GetSinkInfoListReply
	require.NoError(d.t, bench.sound.client.Request(&proto.GetSinkInfoList{}, &reply))
	var own []stream
	for _, s := range reply {
		if d.owns(s.Properties) {
			own = append(own, stream{s.SinkName, s.Device, s.Mute, s.Properties})
		}
	}
	return own
}

func (d *device) owns(properties proto.PropList) bool {
	return strings.Contains(properties["sysfs.path"].String(), fmt.Sprintf("/usb1/1-%d/", d.port+1))
}

// source waits until the sound server's source for d is muted or not.
func (d *device) source(muted bool) stream {
	d.t.Helper()
	var found stream
	testlab.Eventually(d.t, fmt.Sprintf("a source with mute %v", muted), func() bool {
		sources := d.sources()
		if len(sources) != 1 {
			return false
		}
		found = sources[0]
		return found.mute == muted
	})
	return found
}

// record takes half a second of sound from a source through the sound server and tells whether it is silence. While it
// records it calls during.
func record(t *testing.T, source string, during func()) (silence bool) {
	t.Helper()
	const bytesPerSecond = 48000 * 2
	cmd := exec.Command("parecord", "--device="+source, "--raw", "--format=s16le", "--rate=48000", "--channels=1")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, so its status says nothing
	}
	defer stop()
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()

	sound := make([]byte, bytesPerSecond/2)
	_, err = io.ReadFull(stdout, sound)
	require.NoError(t, err, "no sound from %s", source)
	during()
	for _, b := range sound {
		if b != 0 {
			return false
		}
	}
	return true
}
