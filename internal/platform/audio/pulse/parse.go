package pulse

import "strings"

// parseList reads entries until the message ends.
func parseList[T any](b []byte, version uint32, entry func(*decoder) T) ([]T, error) {
	d := decoder{b: b, version: version}
	var list []T
	for d.more() {
		if len(list) == maxItems {
			d.fail("more than %d entries", maxItems)
			break
		}
		list = append(list, entry(&d))
	}
	if d.err != nil {
		return nil, d.err
	}
	return list, nil
}

// parseOne reads the one entry that a message consists of.
func parseOne[T any](b []byte, version uint32, entry func(*decoder) T) (T, error) {
	d := decoder{b: b, version: version}
	v := entry(&d)
	if d.more() {
		d.fail("%d bytes too many", len(b)-d.off)
	}
	if d.err != nil {
		var none T
		return none, d.err
	}
	return v, nil
}

func source(d *decoder) Source {
	dev, index, name := device(d)
	return Source{Device: dev, MonitorOfSink: name, MonitorOfSinkIndex: index}
}

func sink(d *decoder) Sink {
	dev, index, name := device(d)
	return Sink{Device: dev, MonitorSource: name, MonitorSourceIndex: index}
}

// device reads a source or a sink, which have the same format; the index and name of the counterpart (a monitor's sink, a sink's monitor)
// are returned separately.
func device(d *decoder) (dev Device, otherIndex uint32, otherName string) {
	dev.Index = d.u32()
	dev.Name = d.str()
	dev.Description = d.str()
	d.skipSampleSpec()
	d.skipChannelMap()
	dev.OwnerModule = d.u32()
	d.skipCVolume()
	dev.Mute = d.bool()
	otherIndex = d.u32()
	otherName = d.str()
	d.skip(tagUsec, 8) // latency
	dev.Driver = d.str()
	dev.Flags = Flags(d.u32())
	dev.Properties = d.props()
	d.skip(tagUsec, 8)   // requested latency
	d.skip(tagVolume, 4) // base volume
	dev.State = d.u32()
	d.u32() // volume steps
	dev.Card = d.u32()
	dev.Ports = ports(d)
	dev.ActivePort = d.str()
	d.skipFormats()
	return dev, otherIndex, otherName
}

func ports(d *decoder) []Port {
	var list []Port
	for range d.count() {
		if d.err != nil {
			return nil
		}
		p := Port{Name: d.str(), Description: d.str(), Priority: d.u32(), Available: d.available()}
		if d.version >= versionPortTypes {
			d.str() // availability group
			p.Type = d.u32()
		}
		list = append(list, p)
	}
	return list
}

func card(d *decoder) Card {
	c := Card{Index: d.u32(), Name: d.str(), OwnerModule: d.u32(), Driver: d.str()}
	for range d.count() {
		if d.err != nil {
			return c
		}
		skipProfile(d)
	}
	c.ActiveProfile = d.str()
	c.Properties = d.props()
	for range d.count() {
		if d.err != nil {
			return c
		}
		skipCardPort(d)
	}
	return c
}

func skipProfile(d *decoder) {
	d.str() // name
	d.str() // description
	d.u32() // sinks
	d.u32() // sources
	d.u32() // priority
	d.u32() // available
}

func skipCardPort(d *decoder) {
	d.str() // name
	d.str() // description
	d.u32() // priority
	d.u32() // available
	d.u8()  // direction
	d.props()
	for range d.count() {
		if d.err != nil {
			return
		}
		d.str() // name of a profile
	}
	d.skip(tagS64, 8) // latency offset
	if d.version >= versionPortTypes {
		d.str() // availability group
		d.u32() // type
	}
}

func module(d *decoder) Module {
	m := Module{Index: d.u32(), Name: d.str(), Argument: d.str()}
	d.u32() // users
	m.Properties = d.props()
	return m
}

func serverInfo(d *decoder) ServerInfo {
	s := ServerInfo{PackageName: d.str(), PackageVersion: d.str()}
	d.str() // user
	d.str() // host
	d.skipSampleSpec()
	s.DefaultSink = defaultName(d)
	s.DefaultSource = defaultName(d)
	d.u32() // cookie
	d.skipChannelMap()
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
