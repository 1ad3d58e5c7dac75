package camera

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"sidetone/internal/platform/linux"
)

// Bits of v4l2Capability's Capabilities and DeviceCaps.
const (
	v4l2Capture      = 0x00000001
	v4l2CaptureMulti = 0x00001000 // capture in several planes
	v4l2DeviceCaps   = 0x80000000 // DeviceCaps is filled in
)

// v4l2Capability is struct v4l2_capability of linux/videodev2.h.
type v4l2Capability struct {
	Driver       [16]byte
	Card         [32]byte
	BusInfo      [32]byte
	Version      uint32
	Capabilities uint32 // of the whole device
	DeviceCaps   uint32 // of this node
	_            [3]uint32
}

// videoNode is what a video node says about itself.
type videoNode struct {
	Driver  string
	Card    string // the camera's name
	BusInfo string // where it is attached, as the driver writes it
	Capture bool   // it captures video; false for metadata, output and codec nodes
}

// changes reports whether what the node is may change while it is present: one of v4l2loopback with exclusive_caps captures only while a
// program writes to it, and no event of the driver says so. To ask it wakes no camera.
func (n videoNode) changes() bool { return n.Driver == "v4l2 loopback" }

// queryVideoNode queries the node at path. It starts no stream and so does not light the LED.
func queryVideoNode(path string) (videoNode, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return videoNode{}, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var c v4l2Capability
	if err := linux.IoctlOf(fd)(linux.IoctlNumber(linux.IoctlRead, 'V', 0, unsafe.Sizeof(c)), unsafe.Pointer(&c)); err != nil {
		return videoNode{}, fmt.Errorf("ask %s what it is (VIDIOC_QUERYCAP): %w", path, err)
	}
	return c.node(), nil
}

func (c *v4l2Capability) node() videoNode {
	caps := c.Capabilities
	if caps&v4l2DeviceCaps != 0 {
		caps = c.DeviceCaps
	}
	return videoNode{
		Driver:  linux.CString(c.Driver[:]),
		Card:    linux.CString(c.Card[:]),
		BusInfo: linux.CString(c.BusInfo[:]),
		Capture: caps&(v4l2Capture|v4l2CaptureMulti) != 0,
	}
}
