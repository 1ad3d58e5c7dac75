package fakeusb

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// A headset is a full-speed USB Audio Class 1 headset: stereo speaker and mono microphone, each with mute and volume, a
// status interrupt that reports changes made on the device, and a telephony interface (see telephony.go).
//
//	host -> 1 USB stream -> 2 feature unit -> 3 speaker
//	host <- 6 USB stream <- 5 feature unit <- 4 microphone
type headset struct {
	standard  *standardDevice
	status    interruptQueue
	telephony *telephony

	playback, capture pacer

	mu       sync.Mutex
	controls map[control]int16
}

// Interfaces of the headset.
const (
	headsetControl = iota
	headsetPlayback
	headsetCapture
	headsetTelephony
	headsetInterfaces
)

// Units and terminals of the headset.
const (
	entityPlaybackStream = iota + 1
	entitySpeakerFeature
	entitySpeaker
	entityMicrophone
	entityMicrophoneFeature
	entityCaptureStream
)

// Endpoint numbers of the headset.
const (
	endpointPlayback = iota + 1
	endpointCapture
	endpointStatus
	endpointTelephony
)

// USB Audio Class 1.0: codes of appendix A.
const (
	classAudio             = 0x01
	subclassAudioControl   = 0x01
	subclassAudioStreaming = 0x02

	audioInputTerminal  = 0x02
	audioOutputTerminal = 0x03
	audioFeatureUnit    = 0x06

	setCurrent    = 0x01
	getCurrent    = 0x81
	getMinimum    = 0x82
	getMaximum    = 0x83
	getResolution = 0x84
)

// Controls of a feature unit: their selector in requests, and their bit in the unit's descriptor.
const (
	controlMute   = 0x01
	controlVolume = 0x02
	controlGain   = 0x07

	hasMute   = 1 << (controlMute - 1)
	hasVolume = 1 << (controlVolume - 1)
	hasGain   = 1 << (controlGain - 1)
)

// volumeLimits are in 1/256 dB, by request: -60 dB to 0 in steps of 1 dB.
var volumeLimits = map[uint8]int16{getMinimum: -60 * 256, getMaximum: 0, getResolution: 256}

// Both streams: 16 bit, 48 kHz, one packet each millisecond.
const (
	sampleBytes      = 2
	sampleRate       = 48000
	samplesPerPacket = sampleRate / 1000
	speakerChannels  = 2
	frontLeftRight   = 0x03
)

// A control is one knob of the headset.
type control struct {
	entity   uint8
	selector uint8
}

var (
	microphoneMute = control{entityMicrophoneFeature, controlMute}
	microphoneGain = control{entityMicrophoneFeature, controlGain}
)

// newHeadset returns a headset that is not plugged in, unmuted, with automatic gain control off. It fails on an unknown PhoneMute, and
// where newStandardDevice does.
func newHeadset(s Spec) (*headset, error) {
	telephony, err := newTelephony(s.PhoneMute)
	if err != nil {
		return nil, err
	}
	standard, err := newStandardDevice(s, [3]uint8{}, headsetConfiguration(s, telephony))
	controls := map[control]int16{
		{entitySpeakerFeature, controlMute}:      0,
		{entitySpeakerFeature, controlVolume}:    0,
		{entityMicrophoneFeature, controlVolume}: 0,
		microphoneMute:                           0,
	}
	if s.GainControl {
		controls[microphoneGain] = 0
	}
	return &headset{standard: standard, status: newInterruptQueue(), telephony: telephony, controls: controls}, err
}

// headsetConfiguration has a descriptor on each line: length, type and fields (USB Audio Class 1.0, chapter 4).
func headsetConfiguration(s Spec, telephony *telephony) []byte {
	microphoneControls, name := uint8(hasMute|hasVolume), uint8(0)
	if s.GainControl {
		microphoneControls |= hasGain
	}
	if s.Feature != "" {
		name = stringFeature
	}
	return configuration(headsetInterfaces, []byte{
		9, descriptorInterface, headsetControl, 0, 1, classAudio, subclassAudioControl, 0, 0,
		// header: version 1.00, 71 bytes with the units and terminals, two streams
		10, descriptorClassInterface, 0x01, 0x00, 0x01, 71, 0, 2, headsetPlayback, headsetCapture,
		// terminals and feature units; a unit has a byte of controls for the master channel and one for each channel
		12, descriptorClassInterface, audioInputTerminal, entityPlaybackStream, 0x01, 0x01, 0, speakerChannels, frontLeftRight, 0, 0, 0,
		10, descriptorClassInterface, audioFeatureUnit, entitySpeakerFeature, entityPlaybackStream, 1, hasMute | hasVolume, 0, 0, 0,
		9, descriptorClassInterface, audioOutputTerminal, entitySpeaker, 0x01, 0x03, 0, entitySpeakerFeature, 0,
		12, descriptorClassInterface, audioInputTerminal, entityMicrophone, 0x01, 0x02, 0, 1, 0, 0, 0, 0,
		9, descriptorClassInterface, audioFeatureUnit, entityMicrophoneFeature, entityMicrophone, 1, microphoneControls, 0, name,
		9, descriptorClassInterface, audioOutputTerminal, entityCaptureStream, 0x01, 0x01, 0, entityMicrophoneFeature, 0,
		9, descriptorEndpoint, endpointStatus | endpointIn, interrupt, 2, 0, 4, 0, 0,
	},
		streamingInterface(headsetPlayback, entityPlaybackStream, speakerChannels, endpointPlayback, isochronousAdaptive),
		streamingInterface(headsetCapture, entityCaptureStream, 1, endpointCapture|endpointIn, isochronousAsync),
		telephony.interfaceDescriptors(),
	)
}

// streamingInterface is silent in alternate setting 0 and streams in 1.
func streamingInterface(number, terminal, channels, address, attributes uint8) []byte {
	return []byte{
		9, descriptorInterface, number, 0, 0, classAudio, subclassAudioStreaming, 0, 0,
		9, descriptorInterface, number, 1, 1, classAudio, subclassAudioStreaming, 0, 0,
		7, descriptorClassInterface, 0x01, terminal, 1, 0x01, 0x00, // a delay of one frame, PCM
		// format type I: its one rate has three bytes
		11, descriptorClassInterface, 0x02, 1, channels, sampleBytes, sampleBytes * 8, 1,
		sampleRate & 0xff, sampleRate >> 8 & 0xff, sampleRate >> 16,
		9, descriptorEndpoint, address, attributes, channels * samplesPerPacket * sampleBytes, 0, 1, 0, 0,
		7, descriptorClassEndpoint, 0x01, 0, 0, 0, 0,
	}
}

func (h *headset) Speed() Speed { return FullSpeed }

func (h *headset) Control(s Setup, data []byte) ([]byte, error) {
	if reply, handled, err := h.standard.control(s); handled {
		return reply, err
	}
	if s.recipient() != recipientInterface {
		return nil, errStall
	}
	switch s.iface() {
	case headsetControl:
		return h.feature(s, data)
	case headsetTelephony:
		return h.telephony.control(s, data)
	}
	return nil, errStall
}

// feature answers a request to a feature unit.
func (h *headset) feature(s Setup, data []byte) ([]byte, error) {
	knob := control{s.entity(), s.selector()}
	h.mu.Lock()
	defer h.mu.Unlock()
	value, known := h.controls[knob]
	if !known {
		return nil, errStall
	}
	size := 1 // in bytes
	if knob.selector == controlVolume {
		size = 2
	}
	limit, isLimit := volumeLimits[s.Request]
	switch {
	case s.Request == setCurrent && len(data) == size:
		h.controls[knob] = int16(binary.LittleEndian.Uint16(append(data[:size:size], 0)))
		return nil, nil
	case s.Request == getCurrent:
	case knob.selector == controlVolume && isLimit:
		value = limit
	default:
		return nil, errStall
	}
	return binary.LittleEndian.AppendUint16(nil, uint16(value))[:size], nil
}

func (h *headset) In(ctx context.Context, t Transfer) ([][]byte, error) {
	switch t.Endpoint {
	case endpointStatus:
		return h.status.next(ctx)
	case endpointTelephony:
		return h.telephony.reports.next(ctx)
	case endpointCapture:
		if err := h.capture.wait(ctx, time.Duration(t.Packets)*time.Millisecond); err != nil {
			return nil, err
		}
		return h.sound(t.Packets), nil
	}
	return nil, errStall
}

// sound is a sawtooth, which a recording can tell from silence, or silence when the microphone is muted.
func (h *headset) sound(packets int) [][]byte {
	const step = 256
	packet := make([]byte, 0, samplesPerPacket*sampleBytes)
	for i := range samplesPerPacket {
		sample := uint16(i * step)
		if h.isOn(microphoneMute) {
			sample = 0
		}
		packet = binary.LittleEndian.AppendUint16(packet, sample)
	}
	all := make([][]byte, packets)
	for i := range all {
		all[i] = packet
	}
	return all
}

// Out implements [Device]: sound for the speaker, which nobody hears.
func (h *headset) Out(ctx context.Context, t Transfer, _ []byte) error {
	if t.Endpoint != endpointPlayback {
		return errStall
	}
	return h.playback.wait(ctx, time.Duration(t.Packets)*time.Millisecond)
}

func (h *headset) operate(c Command) error {
	switch c.Do {
	case DoMute:
		return h.turn(microphoneMute, c.On)
	case DoPhoneMute:
		return h.telephony.press(c.On)
	case DoGain:
		return h.turn(microphoneGain, c.On)
	case DoReport:
		report, err := hex.DecodeString(c.Report)
		if err != nil {
			return fmt.Errorf("report %q is not hexadecimal: %w", c.Report, err)
		}
		return h.telephony.reports.push(report)
	}
	return errNoSuchAction
}

// turn changes a control on the device's side. The status word names the unit, not the control: the host reads all of its
// controls again (USB Audio Class 1.0, 3.7.1.2).
func (h *headset) turn(knob control, on bool) error {
	const (
		statusPending      = 0x80
		originAudioControl = 0x00
	)
	h.mu.Lock()
	_, known := h.controls[knob]
	if known {
		h.controls[knob] = map[bool]int16{true: 1}[on]
	}
	h.mu.Unlock()
	if !known {
		return fmt.Errorf("this headset has no control %d in unit %d", knob.selector, knob.entity)
	}
	return h.status.push([]byte{statusPending | originAudioControl, knob.entity})
}

// State is what the device knows about itself and the host.
func (h *headset) State() State {
	lamps, requests := h.telephony.heard()
	return State{
		Muted:       h.isOn(microphoneMute),
		GainControl: h.isOn(microphoneGain),
		Recording:   h.standard.alternateOf(headsetCapture) != 0,
		Playing:     h.standard.alternateOf(headsetPlayback) != 0,
		Lamps:       lamps,
		Requests:    requests,
	}
}

func (h *headset) isOn(knob control) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.controls[knob] != 0
}
