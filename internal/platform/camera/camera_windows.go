package camera

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	syswindows "golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/platform/windows"
)

// videoCameras is KSCATEGORY_VIDEO_CAMERA, which excludes the infrared cameras for face recognition.
var videoCameras = syswindows.GUID{
	Data1: 0xe5323777, Data2: 0xf976, Data3: 0x4f5b, Data4: [8]byte{0x9b, 0x55, 0xb9, 0x46, 0x99, 0xc4, 0x6e, 0x44},
}

// source lists the cameras that Windows knows. It opens none.
type source struct {
	*watched
	arrivals *windows.Watch
}

// New returns the source "camera": the cameras of this machine. root is ignored. Its notes say if nothing is watched.
func New(_ string, log *slog.Logger) (platform.Source, error) {
	w := newWatched()
	arrivals := windows.NewWatch("camera", videoCameras, log, func(string, bool) { w.changed.Notify() })
	w.unwatch = arrivals.Close
	return &source{w, arrivals}, nil
}

// Read returns the cameras in the order of their ids. The notes say if nothing is watched.
func (c *source) Read(context.Context) (platform.Reading, error) {
	endpoints, err := c.list()
	return platform.Reading{Endpoints: endpoints, Notes: c.arrivals.Notes()}, err
}

func (c *source) list() ([]devices.Endpoint, error) {
	interfaces, err := windows.Interfaces(videoCameras)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retry = 0
	if err != nil {
		return nil, c.unreadable(err)
	}
	endpoints := []devices.Endpoint{}
	for _, i := range interfaces {
		endpoints = append(endpoints, endpointOf(i, windows.PropertiesOf(i.Instance), windows.Identify(i.Instance, windows.Parent)))
	}
	slices.SortStableFunc(endpoints, func(a, b devices.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
	return endpoints, nil
}

// endpointOf converts what Windows knows of a camera. The id is the symbolic link with which programs open it.
func endpointOf(i windows.Interface, p windows.Properties, h windows.Hardware) devices.Endpoint {
	return devices.Endpoint{
		ID: i.Path, Type: devices.VideoInput, Name: cmp.Or(p.Name, p.Reported), Bus: h.Bus, VID: h.VID, PID: h.PID, Serial: h.Serial,
		Container: p.Container, Virtual: h.Bus == devices.Virtual, SeenBy: []string{"setupapi"},
	}
}
