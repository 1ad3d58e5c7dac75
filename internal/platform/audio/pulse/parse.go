package pulse

import (
	"strings"

	"sidetone/internal/devices"
)

// parse reads the whole body of a message.
func parse[T any](b []byte, version uint32, read func(*decoder) T) (T, error) {
	d := decoder{b: b, version: version}
	v := read(&d)
	if d.more() {
		d.fail("%d bytes too many", len(b)-d.off)
	}
	if d.err != nil {
		var none T
		return none, d.err
	}
	return v, nil
}

// listOf returns a reader of entries until the message ends.
func listOf[T any](entry func(*decoder) T) func(*decoder) []T {
	return func(d *decoder) (list []T) {
		for d.more() {
			if len(list) == maxItems {
				d.fail("more than %d entries", maxItems)
				break
			}
			list = append(list, entry(d))
		}
		return list
	}
}

func source(d *decoder) Source {
	s := Source{Device: Device{Index: d.u32(), Name: d.str(), Description: d.str()}}
	d.skip(tagSampleSpec, tagChannelMap)
	s.OwnerModule = d.u32()
	d.skip(tagCVolume)
	s.Mute = d.bool()
	s.MonitorOfSinkIndex = d.u32()
	s.MonitorOfSink = d.str()
	d.skip(tagUsec, tagString) // latency, driver
	s.Flags = Flags(d.u32())
	s.Properties = d.props()
	d.skip(tagUsec, tagVolume, tagU32, tagU32) // requested latency, base volume, state, volume steps
	s.Card = d.u32()
	s.Plugged = plugged(d)
	d.skip(tagString) // active port
	d.skipFormats()
	return s
}

// sink reads a sink, which has the format of a source; in place of a monitor's sink it has its own monitor.
func sink(d *decoder) Sink { return Sink{source(d).Device} }

// plugged reads the list of ports.
func plugged(d *decoder) (list []devices.Tri) {
	for range d.entries {
		d.skip(tagString, tagString, tagU32) // name, description, priority
		list = append(list, d.available())
		if d.version >= versionPortTypes {
			d.skip(tagString, tagU32) // availability group, type
		}
	}
	return list
}

func sourceOutput(d *decoder) SourceOutput {
	o := SourceOutput{Index: d.u32()}
	d.skip(tagString) // name
	o.OwnerModule = d.u32()
	d.skip(tagU32) // client
	o.Source = d.u32()
	d.skip(tagSampleSpec, tagChannelMap, tagUsec, tagUsec, tagString, tagString) // the usecs are latencies, the strings resampler and driver
	o.Properties = d.props()
	d.bool() // corked
	d.skip(tagCVolume)
	d.bool() // muted
	d.bool() // has a volume
	d.bool() // the volume can be set
	d.skipFormat()
	return o
}

func card(d *decoder) Card {
	c := Card{Index: d.u32()}
	d.skip(tagString, tagU32, tagString) // name, owner module, driver
	profiles, record := 0, false
	for range d.entries {
		d.skip(tagString, tagString, tagU32) // a profile: name, description, sinks
		record = d.u32() > 0 || record
		d.skip(tagU32, tagU32) // priority, available: a profile may become so
		profiles++
	}
	c.OutputsOnly = profiles > 0 && !record
	d.skip(tagString) // active profile
	c.Properties = d.props()
	for range d.entries {
		skipCardPort(d)
	}
	return c
}

func skipCardPort(d *decoder) {
	d.skip(tagString, tagString, tagU32, tagU32, tagU8, tagProps) // name, description, priority, available, direction
	for range d.entries {
		d.skip(tagString) // name of a profile
	}
	d.skip(tagS64) // latency offset
	if d.version >= versionPortTypes {
		d.skip(tagString, tagU32) // availability group, type
	}
}

func module(d *decoder) Module {
	m := Module{Index: d.u32(), Name: d.str(), Argument: d.str()}
	d.skip(tagU32, tagProps) // users
	return m
}

func serverInfo(d *decoder) ServerInfo {
	s := ServerInfo{PackageName: d.str(), PackageVersion: d.str()}
	d.skip(tagString, tagString, tagSampleSpec) // user, host
	s.DefaultSink = defaultName(d)
	s.DefaultSource = defaultName(d)
	s.Cookie = d.u32()
	d.skip(tagChannelMap)
	return s
}

// defaultName reads the name of a default device. Without a session manager PipeWire returns the alias instead of the name.
func defaultName(d *decoder) string {
	name := d.str()
	if strings.HasPrefix(name, "@DEFAULT_") {
		return ""
	}
	return name
}
