package fakeusb

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// A camera is a high-speed USB Video Class 1.1 camera: one uncompressed format, streamed over a bulk endpoint, and a privacy
// shutter that reports itself through the status interrupt.
//
//	host <- 2 output terminal <- 1 camera terminal
type camera struct {
	standard *standardDevice
	status   interruptQueue
	frames   frameSource

	mu      sync.Mutex
	shutter uint8 // the privacy control: 1 if closed
}

// Interfaces of the camera.
const (
	cameraControl = iota
	cameraStreaming
	cameraInterfaces
)

// Terminals of the camera.
const (
	entityCamera = iota + 1
	entityCameraStream
)

// Endpoint numbers of the camera.
const (
	endpointVideo        = 2
	endpointCameraStatus = 3
)

// USB Video Class 1.1: codes of appendix A. Requests are those of USB Audio, and some more.
const (
	classVideo             = 0x0e
	subclassVideoControl   = 0x01
	subclassVideoStreaming = 0x02
	subclassCollection     = 0x03

	getLength  = 0x85
	getInfo    = 0x86
	getDefault = 0x87

	controlPrivacy      = 0x11 // of the camera terminal
	controlErrorCode    = 0x02 // of the interface
	errorInvalidControl = 0x06
	controlProbe        = 0x01 // of the streaming interface
	controlCommit       = 0x02

	infoGet        = 1 << 0
	infoSet        = 1 << 1
	infoAutoUpdate = 1 << 3
)

// The picture: 160x120 YUY2 at 10 frames a second, small enough for an emulated machine.
const (
	frameWidth    = 160
	frameHeight   = 120
	pixelBytes    = 2
	frameSize     = frameWidth * frameHeight * pixelBytes
	framesPerSec  = 10
	frameInterval = 10_000_000 / framesPerSec // in units of 100 ns
	maxPayload    = 16384
	cameraClock   = 48_000_000
)

// streamParameters are what host and camera agree on before streaming (probe and commit control).
type streamParameters struct {
	Hint          uint16
	Format, Frame uint8
	Interval      uint32
	_             [5]uint16 // compression, delay
	MaxFrameSize  uint32
	MaxPayload    uint32
	Clock         uint32
	Framing       uint8
	_             [3]uint8 // versions
}

// newCamera returns a camera that is not plugged in, its shutter open.
func newCamera(s Spec) (*camera, error) {
	// A device with an interface association says so in its class (USB ECN Interface Association Descriptors).
	associated := [3]uint8{0xef, 0x02, 0x01}
	standard, err := newStandardDevice(s, associated, configuration(cameraInterfaces, cameraDescriptors))
	return &camera{standard: standard, status: newInterruptQueue()}, err
}

// cameraDescriptors are the descriptors of the camera's interfaces: length, type and fields (USB Video Class 1.1, chapter 3; for the
// picture format: Uncompressed Payload, 3.1).
var cameraDescriptors = []byte{
	8, descriptorAssociation, cameraControl, cameraInterfaces, classVideo, subclassCollection, 0, stringName,

	9, descriptorInterface, cameraControl, 0, 1, classVideo, subclassVideoControl, 0, stringName,
	// header: version 1.10, 40 bytes with the two terminals, a clock of 48 MHz, one stream
	13, descriptorClassInterface, 0x01, 0x10, 0x01, 40, 0, 0x00, 0x6c, 0xdc, 0x02, 1, cameraStreaming,
	// camera terminal: no lens, three bytes of controls, of which it has the privacy shutter (bit 18)
	18, descriptorClassInterface, 0x02, entityCamera, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1 << 2,
	// output terminal: USB streaming
	9, descriptorClassInterface, 0x03, entityCameraStream, 0x01, 0x01, 0, entityCamera, 0,
	7, descriptorEndpoint, endpointCameraStatus | endpointIn, interrupt, 16, 0, 6,
	5, descriptorClassEndpoint, 0x03, 16, 0,

	9, descriptorInterface, cameraStreaming, 0, 1, classVideo, subclassVideoStreaming, 0, 0,
	// input header: one format, 71 bytes with it and its frame, one byte of controls
	14, descriptorClassInterface, 0x01, 1, 71, 0, endpointVideo | endpointIn, 0, entityCameraStream, 0, 0, 0, 1, 0,
	// format 1: uncompressed, one frame, YUY2 as a GUID, 16 bits a pixel
	27, descriptorClassInterface, 0x04, 1, 1,
	'Y', 'U', 'Y', '2', 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71, pixelBytes * 8, 1, 0, 0, 0, 0,
	// frame 1: width and height, bits a second at least and at most, bytes, the interval that is usual and the one that there is
	30, descriptorClassInterface, 0x05, 1, 0, frameWidth, 0, frameHeight, 0,
	0x00, 0xe0, 0x2e, 0x00, 0x00, 0xe0, 0x2e, 0x00, 0x00, 0x96, 0x00, 0x00, 0x40, 0x42, 0x0f, 0x00, 1, 0x40, 0x42, 0x0f, 0x00,
	7, descriptorEndpoint, endpointVideo | endpointIn, bulk, 0, 2, 0, // packets of 512 bytes
}

func (c *camera) Speed() Speed { return HighSpeed }

func (c *camera) Control(s Setup, _ []byte) ([]byte, error) {
	if reply, handled, err := c.standard.control(s); handled {
		return reply, err
	}
	if s.recipient() != recipientInterface {
		return nil, errStall
	}
	switch {
	case s.iface() == cameraStreaming && (s.selector() == controlProbe || s.selector() == controlCommit):
		return streamControl(s.Request)
	case s.iface() == cameraControl && s.entity() == entityCamera && s.selector() == controlPrivacy:
		return c.privacyControl(s.Request)
	case s.iface() == cameraControl && s.entity() == 0 && s.selector() == controlErrorCode && s.Request == getCurrent:
		return []byte{errorInvalidControl}, nil
	}
	return nil, errStall
}

// streamControl gives one answer whatever the host proposes: there is only one format.
func streamControl(request uint8) ([]byte, error) {
	parameters, _ := binary.Append(nil, binary.LittleEndian, streamParameters{ // which has a fixed size
		Hint: 1, Format: 1, Frame: 1, Interval: frameInterval,
		MaxFrameSize: frameSize, MaxPayload: maxPayload, Clock: cameraClock, Framing: 0x03,
	})
	switch request {
	case setCurrent:
		return nil, nil
	case getCurrent, getMinimum, getMaximum, getResolution, getDefault:
		return parameters, nil
	case getLength:
		return binary.LittleEndian.AppendUint16(nil, uint16(len(parameters))), nil
	case getInfo:
		return []byte{infoGet | infoSet}, nil
	}
	return nil, errStall
}

// privacyControl is read-only: only the shutter on the device changes it.
func (c *camera) privacyControl(request uint8) ([]byte, error) {
	switch request {
	case getCurrent:
		return []byte{c.privacy()}, nil
	case getMinimum, getDefault:
		return []byte{0}, nil
	case getMaximum, getResolution:
		return []byte{1}, nil
	case getLength:
		return []byte{1, 0}, nil
	case getInfo:
		return []byte{infoGet | infoAutoUpdate}, nil
	}
	return nil, errStall
}

func (c *camera) privacy() uint8 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shutter
}

// operate closes or opens the privacy shutter and reports that to the host (USB Video Class 1.1, 2.4.2.2).
func (c *camera) operate(command Command) error {
	if command.Do != DoShutter {
		return errNoSuchAction
	}
	const (
		originVideoControl = 0x01
		eventControlChange = 0x00
		attributeValue     = 0x00
	)
	c.mu.Lock()
	c.shutter = map[bool]uint8{true: 1}[command.On]
	c.mu.Unlock()
	return c.status.push([]byte{
		originVideoControl, entityCamera, eventControlChange, controlPrivacy, attributeValue, c.privacy(),
	})
}

func (c *camera) In(ctx context.Context, t Transfer) ([][]byte, error) {
	switch t.Endpoint {
	case endpointCameraStatus:
		return c.status.next(ctx)
	case endpointVideo:
		payload, err := c.frames.next(ctx, t.Length)
		return [][]byte{payload}, err
	}
	return nil, errStall
}

// Out implements [Device]. The camera takes no data.
func (c *camera) Out(context.Context, Transfer, []byte) error { return errStall }

// State is what the device knows about itself.
func (c *camera) State() State { return State{ShutterClosed: c.privacy() == 1} }

// frameSource cuts grey pictures into payloads. It is used by one transfer at a time.
type frameSource struct {
	pace   pacer
	sent   int  // bytes of the current frame
	toggle byte // the frame bit, which tells one frame from the next
}

// next is the next payload of at most room bytes: a header (USB Video Class 1.1, 2.4.3.3) and a piece of the frame.
func (f *frameSource) next(ctx context.Context, room int) ([]byte, error) {
	const (
		headerLen  = 2
		endOfFrame = 1 << 1
		endOfHead  = 1 << 7
		grey       = 0x80
	)
	if room <= headerLen {
		return nil, fmt.Errorf("no room for a video payload in %d bytes", room)
	}
	if f.sent == 0 {
		if err := f.pace.wait(ctx, time.Second/framesPerSec); err != nil {
			return nil, err
		}
	}
	size := min(min(room, maxPayload)-headerLen, frameSize-f.sent)
	payload := make([]byte, headerLen+size)
	payload[0], payload[1] = headerLen, endOfHead|f.toggle
	for i := range payload[headerLen:] {
		payload[headerLen+i] = grey
	}
	f.sent += size
	if f.sent == frameSize {
		payload[1] |= endOfFrame
		f.sent, f.toggle = 0, f.toggle^1
	}
	return payload, nil
}
