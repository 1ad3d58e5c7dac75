package fakeusb

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// HeadsetOptions describe a headset.
type HeadsetOptions struct {
	Identity

	// Terminal is the type of the microphone's input terminal, [TerminalMicrophone] if zero. The kernel names the
	// microphone's controls after it.
	Terminal uint16

	// Feature, if not empty, is the name that the microphone's feature unit gives itself. The kernel then names the controls
	// after it ("X Capture Switch"), and sound servers that look for well-known names do not find them.
	Feature string

	// GainControl adds an automatic gain control switch to the microphone.
	GainControl bool

	// PhoneMute is how the telephony interface tells of its mute button, [PhoneMuteMomentary] if empty.
	PhoneMute PhoneMute
}

// Microphone terminal types (USB Audio Terminal Types 1.0).
const (
	TerminalMicrophone = 0x0201
	TerminalHeadset    = 0x0402
)

// A Headset is a full-speed USB Audio Class 1 headset: stereo speaker and mono microphone, each with mute and volume, a
// status interrupt that reports changes made on the device, and a telephony interface (see telephony.go).
//
//	host -> 1 USB stream -> 2 feature unit -> 3 speaker
//	host <- 6 USB stream <- 5 feature unit <- 4 microphone
type Headset struct {
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

	audioControlHeader  = 0x01
	audioInputTerminal  = 0x02
	audioOutputTerminal = 0x03
	audioFeatureUnit    = 0x06

	streamingGeneral    = 0x01
	streamingFormatType = 0x02
	formatTypeI         = 0x01
	formatPCM           = 0x0001

	endpointGeneral = 0x01

	terminalUSBStreaming = 0x0101
	terminalSpeaker      = 0x0301

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

// Volumes are in 1/256 dB.
const (
	volumeMinimum    = -60 * 256
	volumeMaximum    = 0
	volumeResolution = 256
)

// Both streams: 16 bit, 48 kHz, one packet each millisecond.
const (
	sampleBytes      = 2
	sampleRate       = 48000
	samplesPerPacket = sampleRate / 1000
	speakerChannels  = 2
	frontLeftRight   = 0x0003
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

type (
	audioHeaderFields struct {
		Version     uint16
		TotalLength uint16
		Streams     uint8
		Interfaces  [2]uint8
	}
	inputTerminalFields struct {
		ID            uint8
		Type          uint16
		Associated    uint8
		Channels      uint8
		ChannelConfig uint16
		ChannelNames  uint8
		Name          uint8
	}
	outputTerminalFields struct {
		ID         uint8
		Type       uint16
		Associated uint8
		Source     uint8
		Name       uint8
	}
	featureUnitFields struct {
		ID          uint8
		Source      uint8
		ControlSize uint8
	}
	streamingGeneralFields struct {
		Terminal uint8
		Delay    uint8
		Format   uint16
	}
	formatTypeIFields struct {
		Type        uint8
		Channels    uint8
		SampleBytes uint8
		SampleBits  uint8
		Rates       uint8
		Rate        [3]uint8
	}
	audioEndpointFields struct {
		endpointFields
		Refresh      uint8
		SyncEndpoint uint8
	}
	generalEndpointFields struct {
		Subtype    uint8
		Attributes uint8
		DelayUnits uint8
		Delay      uint16
	}
)

// NewHeadset returns a headset that is not plugged in, unmuted, with automatic gain control off. It fails on strings that
// are too long for USB, and on an unknown PhoneMute.
func NewHeadset(o HeadsetOptions) (*Headset, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := checkString(o.Feature); err != nil {
		return nil, err
	}
	telephony, err := newTelephony(o.PhoneMute)
	if err != nil {
		return nil, err
	}
	if o.Terminal == 0 {
		o.Terminal = TerminalMicrophone
	}
	controls := map[control]int16{
		{entitySpeakerFeature, controlMute}:      0,
		{entitySpeakerFeature, controlVolume}:    0,
		{entityMicrophoneFeature, controlVolume}: 0,
		microphoneMute:                           0,
	}
	if o.GainControl {
		controls[microphoneGain] = 0
	}
	return &Headset{
		standard:  newStandardDevice(o.Identity, deviceClass{}, headsetConfiguration(o, telephony), o.Feature),
		status:    newInterruptQueue(),
		telephony: telephony,
		controls:  controls,
	}, nil
}

func headsetConfiguration(o HeadsetOptions, telephony *telephony) []byte {
	return configuration(headsetInterfaces,
		audioControlInterface(o),
		streamingInterface(headsetPlayback, entityPlaybackStream, speakerChannels,
			endpointFields{Address: endpointPlayback, Attributes: isochronousAdaptive}),
		streamingInterface(headsetCapture, entityCaptureStream, 1,
			endpointFields{Address: endpointCapture | endpointIn, Attributes: isochronousAsync}),
		telephony.interfaceDescriptors(),
	)
}

func audioControlInterface(o HeadsetOptions) []byte {
	microphoneControls, name := uint8(hasMute|hasVolume), uint8(0)
	if o.GainControl {
		microphoneControls |= hasGain
	}
	if o.Feature != "" {
		name = stringFeature
	}
	entities := concat(
		classInterface(audioInputTerminal, inputTerminalFields{
			ID: entityPlaybackStream, Type: terminalUSBStreaming, Channels: speakerChannels, ChannelConfig: frontLeftRight,
		}),
		featureUnit(entitySpeakerFeature, entityPlaybackStream, 0, hasMute|hasVolume, 0, 0),
		classInterface(audioOutputTerminal, outputTerminalFields{
			ID: entitySpeaker, Type: terminalSpeaker, Source: entitySpeakerFeature,
		}),
		classInterface(audioInputTerminal, inputTerminalFields{ID: entityMicrophone, Type: o.Terminal, Channels: 1}),
		featureUnit(entityMicrophoneFeature, entityMicrophone, name, microphoneControls, 0),
		classInterface(audioOutputTerminal, outputTerminalFields{
			ID: entityCaptureStream, Type: terminalUSBStreaming, Source: entityMicrophoneFeature,
		}),
	)
	const headerLen = 10
	return concat(
		descriptor(descriptorInterface, interfaceFields{
			Number: headsetControl, Endpoints: 1, Class: classAudio, Subclass: subclassAudioControl,
		}),
		classInterface(audioControlHeader, audioHeaderFields{
			Version:     0x0100,
			TotalLength: uint16(headerLen + len(entities)),
			Streams:     2,
			Interfaces:  [2]uint8{headsetPlayback, headsetCapture},
		}),
		entities,
		descriptor(descriptorEndpoint, audioEndpointFields{endpointFields: endpointFields{
			Address: endpointStatus | endpointIn, Attributes: interrupt, MaxPacket: 2, Interval: 4,
		}}),
	)
}

// featureUnit has one byte of controls for the master channel and one for each channel.
func featureUnit(id, source, name uint8, controls ...uint8) []byte {
	return classInterface(audioFeatureUnit, featureUnitFields{ID: id, Source: source, ControlSize: 1}, controls, name)
}

// streamingInterface is silent in alternate setting 0 and streams in 1.
func streamingInterface(number, terminal, channels uint8, ep endpointFields) []byte {
	ep.MaxPacket = uint16(channels) * samplesPerPacket * sampleBytes
	ep.Interval = 1
	idle := interfaceFields{Number: number, Class: classAudio, Subclass: subclassAudioStreaming}
	active := idle
	active.Alternate, active.Endpoints = 1, 1
	return concat(
		descriptor(descriptorInterface, idle),
		descriptor(descriptorInterface, active),
		classInterface(streamingGeneral, streamingGeneralFields{Terminal: terminal, Delay: 1, Format: formatPCM}),
		classInterface(streamingFormatType, formatTypeIFields{
			Type: formatTypeI, Channels: channels, SampleBytes: sampleBytes, SampleBits: sampleBytes * 8,
			Rates: 1, Rate: [3]uint8{sampleRate & 0xff, sampleRate >> 8 & 0xff, sampleRate >> 16},
		}),
		descriptor(descriptorEndpoint, audioEndpointFields{endpointFields: ep}),
		descriptor(descriptorClassEndpoint, generalEndpointFields{Subtype: endpointGeneral}),
	)
}

// Speed implements [Device].
func (h *Headset) Speed() Speed { return FullSpeed }

// Control implements [Device].
func (h *Headset) Control(s Setup, data []byte) ([]byte, error) {
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
func (h *Headset) feature(s Setup, data []byte) ([]byte, error) {
	knob := control{s.entity(), s.selector()}
	h.mu.Lock()
	defer h.mu.Unlock()
	value, known := h.controls[knob]
	if !known {
		return nil, errStall
	}
	if knob.selector != controlVolume {
		return h.featureSwitch(s, knob, data)
	}
	switch s.Request {
	case getMinimum:
		value = volumeMinimum
	case getMaximum:
		value = volumeMaximum
	case getResolution:
		value = volumeResolution
	case getCurrent:
	case setCurrent:
		if len(data) != 2 {
			return nil, errStall
		}
		h.controls[knob] = int16(binary.LittleEndian.Uint16(data))
		return nil, nil
	default:
		return nil, errStall
	}
	return binary.LittleEndian.AppendUint16(nil, uint16(value)), nil
}

// featureSwitch answers for a control that is on or off. The caller holds mu.
func (h *Headset) featureSwitch(s Setup, knob control, data []byte) ([]byte, error) {
	switch {
	case s.Request == getCurrent:
		return []byte{uint8(h.controls[knob])}, nil
	case s.Request == setCurrent && len(data) == 1:
		h.controls[knob] = int16(data[0])
		return nil, nil
	}
	return nil, errStall
}

// In implements [Device].
func (h *Headset) In(ctx context.Context, t Transfer) ([][]byte, error) {
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

// sound is a sawtooth, so that a recording can be told from silence, or silence when the microphone is muted.
func (h *Headset) sound(packets int) [][]byte {
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
func (h *Headset) Out(ctx context.Context, t Transfer, _ []byte) error {
	if t.Endpoint != endpointPlayback {
		return errStall
	}
	return h.playback.wait(ctx, time.Duration(t.Packets)*time.Millisecond)
}

// SetMute mutes or unmutes the microphone on the device, as its mute button does, and reports that to the host.
func (h *Headset) SetMute(on bool) error { return h.turn(microphoneMute, on) }

// SetGainControl switches automatic gain control on the device, as a vendor's own tool or a switch on it does, and reports
// that to the host. It fails on a headset that has none.
func (h *Headset) SetGainControl(on bool) error { return h.turn(microphoneGain, on) }

// turn changes a control on the device's side. The status word names the unit, not the control: the host reads all of its
// controls again (USB Audio Class 1.0, 3.7.1.2).
func (h *Headset) turn(knob control, on bool) error {
	const (
		statusPending      = 0x80
		originAudioControl = 0x00
	)
	h.mu.Lock()
	_, known := h.controls[knob]
	if known {
		h.controls[knob] = 0
		if on {
			h.controls[knob] = 1
		}
	}
	h.mu.Unlock()
	if !known {
		return fmt.Errorf("this headset has no control %d in unit %d", knob.selector, knob.entity)
	}
	return h.status.push([]byte{statusPending | originAudioControl, knob.entity})
}

// SendReport sends an input report of the telephony interface, see telephony.go for its bits.
func (h *Headset) SendReport(report []byte) error { return h.telephony.reports.push(report) }

// PressPhoneMute presses the mute button of the telephony interface, which has nothing to do with SetMute: some headsets
// have both, most have one. on is where to move the switch of [PhoneMuteLevel], or which button of [PhoneMuteTwoButtons] to
// press; to [PhoneMuteMomentary] it means nothing. It fails if the host does not read the interface.
func (h *Headset) PressPhoneMute(on bool) error { return h.telephony.press(on) }

// State is what the device knows about itself and the host.
func (h *Headset) State() State {
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

func (h *Headset) isOn(knob control) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.controls[knob] != 0
}
