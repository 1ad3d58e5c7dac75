package session

import (
	"slices"

	"sidetone/internal/devices"
)

// listFor returns the list to send if snap is the newest.
func (s *Session) listFor(snap devices.Snapshot) devices.Snapshot {
	switch s.offer {
	case offerFormer:
		return asOfToday(s.former(), snap)
	case offerEmpty:
		return asOfToday(nil, snap)
	}
	return snap
}

// former returns the list that the client has accepted last, or else the last one that it was sent and has not refused; nil: none.
func (s *Session) former() *devices.Snapshot {
	if s.holds != nil {
		return s.holds
	}
	return s.MayHold
}

// verdictOn returns what it means that the client has refused a list while snap is the newest one.
func (s *Session) verdictOn(snap devices.Snapshot) verdict {
	switch {
	case s.holds != nil && !holdsStale(*s.holds, snap):
		return onRefused
	case len(asOfToday(s.former(), snap).Devices) == 0:
		return onRefusedBare
	}
	return onRefusedStale
}

// flagsOf returns the flags of d that are true.
func flagsOf(d devices.Device) (set []devices.Field) {
	for field, value := range map[devices.Field]*bool{
		devices.HardwareMute: d.HardwareMute, devices.EchoCancellation: d.EchoCancellation,
		devices.NoiseSuppression: d.NoiseSuppression, devices.AutomaticGainControl: d.AutomaticGainControl,
	} {
		if value != nil && *value {
			set = append(set, field)
		}
	}
	return set
}

// holdsStale reports whether a flag is true in held that is not true in newest.
func holdsStale(held, newest devices.Snapshot) bool {
	return slices.ContainsFunc(held.Devices, func(was devices.Report) bool {
		now := find(newest, was)
		return slices.ContainsFunc(flagsOf(was.Device), func(f devices.Field) bool {
			return now == nil || !slices.Contains(flagsOf(now.Device), f)
		})
	})
}

// find returns the device of list with the type and id of r; nil: there is none.
func find(list devices.Snapshot, r devices.Report) *devices.Report {
	i := slices.IndexFunc(list.Devices, func(o devices.Report) bool { return o.Type == r.Type && o.ID == r.ID })
	if i < 0 {
		return nil
	}
	return &list.Devices[i]
}

// asOfToday returns newest with the devices that are in was, too, described as they were, with their present flags.
func asOfToday(was *devices.Snapshot, newest devices.Snapshot) devices.Snapshot {
	var kept []devices.Report
	if was != nil {
		for _, r := range was.Devices {
			now := find(newest, r)
			if now == nil {
				continue
			}
			r.Flags, r.HardwareMute = now.Flags, now.HardwareMute
			r.EchoCancellation, r.NoiseSuppression, r.AutomaticGainControl = now.EchoCancellation, now.NoiseSuppression, now.AutomaticGainControl
			kept = append(kept, r)
		}
	}
	for i := range kept {
		kept[i].Related = slices.DeleteFunc(slices.Clone(kept[i].Related), func(id string) bool {
			return !slices.ContainsFunc(kept, func(r devices.Report) bool { return r.ID == id })
		})
	}
	newest.Devices = kept
	return newest
}

// MutedIn returns the ids of the microphones that are muted in any of the lists.
func MutedIn(lists ...*devices.Snapshot) (ids []string) {
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, d := range list.Devices {
			if d.HardwareMute != nil && *d.HardwareMute && !slices.Contains(ids, d.ID) {
				ids = append(ids, d.ID)
			}
		}
	}
	return ids
}

// MissingIn returns the ids of the microphones of newest that are not in held.
func MissingIn(held *devices.Snapshot, newest devices.Snapshot) (ids []string) {
	for _, r := range newest.Devices {
		if r.Type == devices.AudioInput && (held == nil || find(*held, r) == nil) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
