// Package pulse is a small client of the PulseAudio native protocol, which PulseAudio and PipeWire (pipewire-pulse) both speak. It lists
// sound devices and modules, and tells when they change. It never plays or records. It copes with any server: every request has a
// deadline, malformed data is an error and never a panic, and Conn.Done reports a lost connection.
package pulse

import (
	"cmp"
	"fmt"
	"strings"

	"sidetone/internal/devices"
)

// InvalidIndex means "none" in place of an index.
const InvalidIndex = 0xFFFFFFFF

// Flags are the abilities of a source or sink.
type Flags uint32

// The flags of interest.
const (
	FlagHardware Flags = 0x04 // backed by hardware
	FlagHWMute   Flags = 0x10 // mute is said to be set in the device
)

// Device is what sources and sinks have in common.
type Device struct {
	Index       uint32 // unique among the sources (or sinks) of this server's run
	Name        string // the server's id of the device
	Description string // for people
	Mute        bool
	Flags       Flags
	Card        uint32            // index, InvalidIndex if it belongs to no card
	OwnerModule uint32            // index, InvalidIndex if unknown
	Plugged     []devices.Tri     // for each port, a connector or channel, whether something is plugged in
	Properties  map[string]string // never nil
}

// Source is a recording device. Not every source is a microphone: each sink has a monitor, which carries what the sink plays.
type Source struct {
	Device
	MonitorOfSink      string // name of the sink whose sound this is, "" if none
	MonitorOfSinkIndex uint32 // its index, InvalidIndex if none
}

// IsMonitor reports whether s carries what a sink plays, and so is no microphone.
func (s Source) IsMonitor() bool {
	return s.MonitorOfSinkIndex != InvalidIndex || s.MonitorOfSink != "" || s.Properties["device.class"] == "monitor"
}

// IsVirtual reports whether s is neither a monitor nor backed by hardware.
func (s Source) IsVirtual() bool { return s.Flags&FlagHardware == 0 && !s.IsMonitor() }

// MuteInHardware reports whether s is a real device that applies its mute itself. The server's mute flag alone is no proof, since virtual
// sources have it, too.
func (s Source) MuteInHardware() bool {
	const both = FlagHardware | FlagHWMute
	return s.Flags&both == both && !s.IsMonitor()
}

// Sink is a playback device.
type Sink struct{ Device }

// Card is a piece of hardware with sources and sinks.
type Card struct {
	Index       uint32
	OutputsOnly bool `json:",omitempty"` // none of its profiles makes a source
	Properties  map[string]string
}

// Presence returns an id that the card keeps until it is unplugged. device names its USB device by the number that the kernel gives it anew
// each time it is plugged in, whatever becomes of the sound server; "": unknown. Then the card's index tells, but each run of a server
// counts anew: after a restart nobody knows whether the card was there all the while. connections is how many connections there have been.
func (c Card) Presence(device string, connections int) string {
	return cmp.Or(device, fmt.Sprintf("%d/%d", connections, c.Index))
}

// SourceOutput is a stream that records, of a program or of a part of the server, such as the microphone's side of an echo canceller.
type SourceOutput struct {
	Index       uint32
	OwnerModule uint32 // index, InvalidIndex if it is not a module's
	Source      uint32 // index of the source that it records now, InvalidIndex if none
	Properties  map[string]string
	Several     bool `json:",omitzero"` // it records others, too; the server does not say that
}

// Module is a loaded part of the server.
type Module struct {
	Index    uint32
	Name     string
	Argument string // as given by whoever loaded it
}

// ServerInfo describes the server.
type ServerInfo struct {
	PackageName    string // "pulseaudio" or "PulseAudio (on PipeWire 0.3.65)"
	PackageVersion string
	DefaultSink    string // name, "" if none
	DefaultSource  string
	Cookie         uint32 `json:"-"` // tells this run of the server from others; PipeWire's own protocol has the same
}

// OnPipeWire reports whether it is PipeWire.
func (s ServerInfo) OnPipeWire() bool { return strings.Contains(s.PackageName, "PipeWire") }

// Snapshot is all that this package reads of a server.
type Snapshot struct {
	Server  ServerInfo
	Sources []Source
	Sinks   []Sink
	Cards   []Card
	Modules []Module
	Outputs []SourceOutput
}

// Facility is a kind of object that events are about.
type Facility uint8

// The facilities of interest.
const (
	OnSink         Facility = 0
	OnSource       Facility = 1
	OnSourceOutput Facility = 3 // Change also when it was moved to another source
	OnModule       Facility = 4
	OnServer       Facility = 7 // a default device changed; the index means nothing
	OnCard         Facility = 9
)

// EventType is what happened to an object.
type EventType uint8

// Event types. A server may send Change before New, and any event late: events for objects that are gone are normal.
const (
	New    EventType = 0x00
	Change EventType = 0x10
	Remove EventType = 0x20
)
