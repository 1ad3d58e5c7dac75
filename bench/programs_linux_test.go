package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/fakeserver"
	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/testlab"
)

// hidHeadset is the HID interface of a headset whose Phone Mute is a switch that shows its state (absolute, no preferred state).
var hidHeadset = testlab.HIDDevice{
	Node: "hidraw0", Port: "1-3", Interface: 3,
	VID: "1209", PID: "0700", Serial: "A700-0001", Name: "Acme Headset 700",
	Descriptor: []byte{
		0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, // telephony, headset
		0x85, 1, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, // phone mute, in report 1
		0x95, 0x07, 0x81, 0x03, 0xc0,
	},
}

func muteReport(mute bool) []byte { return []byte{1, map[bool]byte{true: 1}[mute]} }

// desk is a plugged-in headset, a client, and an agent in this process that reports the one to the other.
type desk struct {
	*testing.B
	*place
	headset *testlab.HIDNode
	agent   *control.Client
	list    []byte // as the agent sends it
}

func newDesk(b *testing.B) *desk {
	p, err := overIPC.open(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.close()) })
	root := b.TempDir()
	tree, err := testlab.NewHIDTree(root)
	require.NoError(b, err)
	d := &desk{B: b, place: p}
	d.headset, err = tree.Plug(hidHeadset)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, d.headset.Unplug()) })

	c, _, problems := config.Load(config.Options{Env: p.settings()})
	require.Empty(b, problems)
	container := hidHeadset.Container()
	endpoints, err := json.Marshal(map[string]any{"endpoints": []map[string]any{
		{"id": "mic", "name": "Mono", "type": "audioinput", "bus": "usb", "vid": "1209", "pid": "0700", "container": container},
		{"id": "speaker", "name": "Stereo", "type": "audiooutput", "bus": "usb", "vid": "1209", "pid": "0700", "container": container},
	}})
	require.NoError(b, err)
	c.Sources = config.Sources{HID: true, Files: []string{filepath.Join(root, "endpoints.json")}}
	require.NoError(b, os.WriteFile(c.Sources.Files[0], endpoints, 0o600))
	products, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(b, problems)
	getenv := func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": p.folder, "XDG_STATE_HOME": p.folder}[name]
	}
	a, err := app.New(app.Options{
		Settings: app.NewSettings(c, products), Host: app.Host{Getenv: getenv, HIDRoot: root}, Version: "bench", Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	d.runs(a.Run)
	d.await(lists)
	d.agent = api(p.folder + controlName)
	require.NoError(b, d.headset.Report(muteReport(false)))
	d.await(func(p fakeserver.Payload) bool { return mutes(p, false) })
	d.list = d.last.Raw
	return d
}

// api is a client of a local API.
func api(socket string) *control.Client {
	return control.NewClient(func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", socket) })
}

// runs runs what reports to the client until the benchmark ends.
func (d *desk) runs(program func(context.Context) error) {
	ctx, stop := context.WithCancel(d.Context())
	ended := make(chan error, 1)
	go func() { ended <- program(ctx) }()
	d.Cleanup(func() {
		stop()
		<-ended
	})
}

func (d *desk) await(wanted func(fakeserver.Payload) bool) {
	for {
		p, err := d.client.WaitPayload(d.Context(), d.last.Seq)
		require.NoError(d, err)
		d.last = p
		if wanted(p) {
			return
		}
	}
}

// bare returns the bare path to the client, with the agent's own payloads.
func (d *desk) bare() *bare {
	w, err := wireTo(d.Context(), fakeserver.IPC, d.address(fakeserver.IPC))
	require.NoError(d, err)
	d.Cleanup(func() { _ = w.Close() })
	off, on := []byte(`"hardware_mute":false`), []byte(`"hardware_mute":true`)
	require.True(d, bytes.Contains(d.list, off))
	return &bare{wire: w, messages: map[bool][]byte{false: w.frame(d.list), true: w.frame(bytes.ReplaceAll(d.list, off, on))}}
}

// measure changes the mute so slowly that nothing is paced, and measures the time until the client has the payload.
func (d *desk) measure(change func(mute bool) error) {
	mute := false
	for d.Loop() {
		d.StopTimer()
		time.Sleep(changeGap)
		mute = !mute
		d.StartTimer()
		require.NoError(d, change(mute))
		d.await(func(p fakeserver.Payload) bool { return mutes(p, mute) })
	}
}

// BenchmarkHIDReport is the way of a report from the headset to the client: by the agent, and by a program that is blocked in a read
// of the same node, looks at one bit and writes one of two prepared messages.
func BenchmarkHIDReport(b *testing.B) {
	b.Run("agent", func(b *testing.B) {
		d := newDesk(b)
		d.measure(func(mute bool) error { return d.headset.Report(muteReport(mute)) })
	})
	b.Run("bare", func(b *testing.B) {
		d := newDesk(b)
		read, write, err := os.Pipe()
		require.NoError(b, err)
		defer write.Close()
		bare := d.bare()
		d.runs(func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { _ = read.Close() })()
			report := make([]byte, 64)
			for {
				if _, err := read.Read(report); err != nil {
					return err
				}
				if err := bare.report(report[1]&1 != 0); err != nil {
					return err
				}
			}
		})
		d.measure(func(mute bool) error {
			_, err := write.Write(muteReport(mute))
			return err
		})
	})
}

// BenchmarkPush is the way of a push over the local API to the client: by the agent, and by Go's HTTP server, which decodes the same
// JSON and writes one of two prepared messages.
func BenchmarkPush(b *testing.B) {
	push := func(d *desk, api *control.Client) {
		d.measure(func(mute bool) error {
			_, err := api.Push(d.Context(), "acme-headset-700", control.PushRequest{
				Owner: "bench", TTLms: 600_000, State: map[devices.Field]*bool{devices.HardwareMute: &mute},
			})
			return err
		})
	}
	b.Run("agent", func(b *testing.B) {
		d := newDesk(b)
		push(d, d.agent)
	})
	b.Run("bare", func(b *testing.B) {
		d := newDesk(b)
		bare := d.bare()
		listener, err := net.Listen("unix", d.folder+"/bare.sock")
		require.NoError(b, err)
		server := &http.Server{ReadHeaderTimeout: stepLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var p control.PushRequest
			err := json.NewDecoder(r.Body).Decode(&p)
			if err == nil {
				err = bare.report(*p.State[devices.HardwareMute])
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, `{"generation":1,"units":1,"clients":1}`)
		})}
		b.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }()
		push(d, api(d.folder+"/bare.sock"))
	})
}
