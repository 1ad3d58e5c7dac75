package pulse

import "slices"

// MasterOf returns the name of the source whose sound a virtual source carries now: what the streams record that feed it. That is not what
// it was told to record: with no such word it records the default source, and users move the stream of an echo canceller as they do with a
// program's. It is "" if no stream is known to feed s, as with a program that makes its own source, or if they record several microphones.
// A monitor counts only if nothing else is recorded: cancellers listen to what the speakers play, too.
func (s Snapshot) MasterOf(virtual Source) string {
	var master *Source
	for _, o := range s.Outputs {
		if !o.feeds(virtual) {
			continue
		}
		i := slices.IndexFunc(s.Sources, func(src Source) bool { return src.Index == o.Source })
		switch {
		case o.Several:
			return ""
		case i < 0 && o.Source == InvalidIndex: // waits for a source
		case i < 0: // one that has come since
			return ""
		case master == nil || master.IsMonitor() && !s.Sources[i].IsMonitor():
			master = &s.Sources[i]
		case s.Sources[i].IsMonitor() && !master.IsMonitor(), master.Index == o.Source:
		default:
			return ""
		}
	}
	if master == nil {
		return ""
	}
	return master.Name
}

// Fed reports whether a stream feeds a source, whatever it records.
func (s Snapshot) Fed(virtual Source) bool {
	return slices.ContainsFunc(s.Outputs, func(o SourceOutput) bool { return o.feeds(virtual) })
}

// feeds reports whether o and a source belong to one filter. PipeWire links both ends of filters, loopbacks and cancellers by a group; its
// node.group says less, it is for whatever shares a clock. In PulseAudio one module makes both.
func (o SourceOutput) feeds(s Source) bool {
	const group = "node.link-group"
	if g := s.Properties[group]; g != "" {
		return o.Properties[group] == g
	}
	return s.OwnerModule != InvalidIndex && o.OwnerModule == s.OwnerModule
}
