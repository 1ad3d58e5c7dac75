package camera

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	syswindows "golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/platform/windows"
	"sidetone/internal/signal"
	"sidetone/internal/stable"
)

// listRetry is when a failed List is tried again without an event.
const listRetry = 30 * time.Second

// videoCameras is KSCATEGORY_VIDEO_CAMERA: cameras for pictures of people, not those by which Windows knows faces.
var videoCameras = syswindows.GUID{
	Data1: 0xe5323777, Data2: 0xf976, Data3: 0x4f5b, Data4: [8]byte{0x9b, 0x55, 0xb9, 0x46, 0x99, 0xc4, 0x6e, 0x44},
}

// source lists the cameras that Windows knows. It opens none.
type source struct {
	changed  signal.Signal
	closed   chan struct{}
	once     sync.Once
	watching *windows.Watch // nil: nothing is watched
	deaf     error          // why not

	mu    sync.Mutex
	retry time.Duration // until List is due without an event; 0 = never
}

// New returns the source "camera": the cameras of this machine. There are no others: root means nothing. What cannot be watched is said in
// the source's notes.
func New(_ string, log *slog.Logger) (platform.Source, error) {
	c := &source{changed: signal.New(), closed: make(chan struct{})}
	c.watching, c.deaf = windows.NewWatch(videoCameras, func(string, bool) { c.changed.Notify() })
	if c.deaf != nil {
		log.Warn("cameras that come and go are not noticed", "err", c.deaf)
	}
	return c, nil
}

// Name is "camera".
func (c *source) Name() string { return "camera" }

// Close ends Wait and the watching.
func (c *source) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		if c.watching != nil {
			err = c.watching.Close()
		}
	})
	return err
}

// Wait returns after a hot-plug, and when a List that has failed is due again.
func (c *source) Wait(ctx context.Context) error {
	c.mu.Lock()
	retry := c.retry
	c.mu.Unlock()
	_, err := c.changed.Wait(ctx, retry, c.closed)
	return err
}

// Notes says what is not watched.
func (c *source) Notes() []health.Condition {
	if c.deaf == nil {
		return nil
	}
	return []health.Condition{health.Wrap(c.deaf, health.PlugsUnheard, health.Warning, health.Args{"device": "camera"}).Condition}
}

// List returns the cameras in the order of their ids.
func (c *source) List(context.Context) ([]devices.Endpoint, error) {
	interfaces, err := windows.Interfaces(videoCameras)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retry = 0
	if err != nil {
		c.retry = listRetry
		return nil, platform.Trouble(fmt.Errorf("list cameras: %w", err), health.CamerasUnreadable, nil)
	}
	endpoints := []devices.Endpoint{}
	for _, i := range interfaces {
		endpoints = append(endpoints, endpointOf(i, windows.PropertiesOf(i.Instance), windows.Identify(i.Instance, windows.Parent)))
	}
	return stable.Sort(endpoints, func(a, b devices.Endpoint) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// endpointOf makes an endpoint of what Windows keeps of a camera. Its id is the symbolic link, by which programs open it.
func endpointOf(i windows.Interface, p windows.Properties, h windows.Hardware) devices.Endpoint {
	return devices.Endpoint{
		ID: i.Path, Type: devices.VideoInput, Name: cmp.Or(p.Name, p.Reported), Bus: h.Bus, VID: h.VID, PID: h.PID, Serial: h.Serial,
		Container: p.Container, Virtual: h.Bus == devices.Virtual, SeenBy: []string{"setupapi"},
	}
}
