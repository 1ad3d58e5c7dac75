package world

// Lengths of reports, without their number.
const (
	reportBytes = 3
	hidppReport = 0x11
	hidppBytes  = 19
)

// descriptor declares what an interface of the model sends and takes (HID 1.11, section 6.2.2).
func (m *model) descriptor(iface int) []byte {
	d := []byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08}
	add := func(id uint8, item byte, n byte) {
		if id != 0 {
			d = append(d, 0x85, id)
		}
		d = append(d, 0x95, n, 0x09, 0x02, item, 0x02)
	}
	const input, output, feature = 0x81, 0x91, 0xb1
	var phone []byte
	for _, t := range m.Channels {
		if t.Interface != iface && !t.Twin {
			continue
		}
		switch t.Form {
		case formHeld, formEvent, formLevel:
			add(t.Report, input, reportBytes)
		case formFeature:
			add(t.Ask, feature, reportBytes)
		case formAnswer:
			if t.Property <= 1 { // others share them
				add(t.Report, input, reportBytes)
				add(t.Ask, output, reportBytes)
			}
		case formLamp:
			add(t.Ask, output, reportBytes)
		case formHIDPP:
			add(hidppReport, input, hidppBytes)
			add(hidppReport, output, hidppBytes)
		}
		if t.Hint != 0 {
			add(t.Hint, input, reportBytes)
		}
		if mute := phoneMutes[t.Form]; mute != nil {
			phone = append(phone, 0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01)
			if t.Report != 0 {
				phone = append(phone, 0x85, t.Report)
			}
			phone = append(append(phone, mute...), 0xc0)
		}
	}
	if iface == 0 {
		for _, id := range m.Noise {
			add(uint8(id), input, reportBytes)
		}
	}
	if len(d) > 14 {
		return append(append(d, 0xc0), phone...)
	}
	return phone
}

// phoneMutes declare a headset's Phone Mute in its three legal forms (HID Usage Tables, section 3.4.1.2).
var phoneMutes = map[form][]byte{
	formSwitch:  {0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, 0x95, 0x07, 0x81, 0x03},
	formPress:   {0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x06, 0x95, 0x07, 0x81, 0x03},
	formButtons: {0x15, 0xff, 0x25, 0x01, 0x75, 0x02, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x26, 0x75, 0x06, 0x81, 0x03},
}
