package hid

import "sidetone/internal/hid/descriptor"

// resolve returns the query with the report and the place of its field, if it has one, on a device, and the conditions on reports that
// trigger the query: all of one list. It returns false if the device has no such field, or no report that tells of its changes.
func (q Query) resolve(desc *descriptor.Descriptor) (out Query, triggers [][]Test, ok bool) {
	if len(q.AskOn) > 0 {
		triggers = append(triggers, q.AskOn)
	}
	if q.Field == nil {
		return q, triggers, true
	}
	f, ok := q.Field.find(desc)
	if !ok {
		return q, nil, false
	}
	for _, u := range q.Field.AskOn {
		for _, event := range desc.Find(descriptor.Input, u.Page, u.Usage) {
			triggers = append(triggers, reports(event))
		}
	}
	q.Steps = []Step{{Read: f.Kind, ID: f.ReportID, Pause: q.Steps[0].Pause}}
	at := f.Offset / 8
	q.Value.Byte = at
	if !desc.Numbered {
		q.Value.Byte++ // behind the number 0, which answers have
	}
	for b := range q.Value.Means {
		q.Value.Means[b] = q.Field.Means[byte(b)&f.MaskAt(at)>>(f.Offset%8)]
	}
	return q, triggers, len(q.Field.AskOn) == 0 || len(triggers) > 0 || q.Poll != 0
}

// find returns the field of the device. One that spans bytes has no state.
func (s *Field) find(desc *descriptor.Descriptor) (descriptor.Field, bool) {
	for _, f := range desc.Find(s.Kind, s.Page, s.Usage) {
		if !f.Array && f.Offset%8+f.Size <= 8 {
			return f, true
		}
	}
	return descriptor.Field{}, false
}

// reports returns the conditions on a report that tells of an event: one with the field, and with a value other than 0 if that is a change.
func reports(f descriptor.Field) (tests []Test) {
	exactly := func(b byte) (fits [256]bool) {
		fits[b] = true
		return fits
	}
	if f.ReportID != 0 {
		tests = append(tests, Test{Byte: 0, Fits: exactly(f.ReportID)})
	}
	at := f.Offset / 8
	occurs := Test{Byte: at}
	for b := range occurs.Fits {
		occurs.Fits[b] = !f.Relative || byte(b)&f.MaskAt(at) != 0
	}
	return append(tests, occurs)
}
