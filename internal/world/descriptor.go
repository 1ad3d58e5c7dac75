package world

import "slices"

// reportBytes is how long the reports of the world are, beside their number; those of HID++ are longer.
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
			add(t.Report, input, reportBytes)
			add(t.Ask, output, reportBytes)
		case formLamp:
			add(t.Ask, output, reportBytes)
		case formHIDPP:
			add(hidppReport, input, hidppBytes)
			add(hidppReport, output, hidppBytes)
		}
		if t.Hint != 0 {
			add(t.Hint, input, reportBytes)
		}
	}
	if iface == 0 {
		for _, id := range m.Noise {
			add(uint8(id), input, reportBytes)
		}
	}
	if len(d) > 14 {
		d = append(d, 0xc0)
	} else {
		d = nil
	}
	for _, t := range m.Channels {
		if (t.Interface == iface || t.Twin) && slices.Contains(usageForms, t.Form) {
			d = append(d, phoneMute(t)...)
		}
	}
	return d
}

var usageForms = []form{formSwitch, formPress, formButtons}

// phoneMute declares a headset's Phone Mute in one of the three legal forms (HID Usage Tables, section 3.4.1.2).
func phoneMute(t channel) []byte {
	d := []byte{0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01}
	if t.Report != 0 {
		d = append(d, 0x85, t.Report)
	}
	switch t.Form {
	case formSwitch:
		d = append(d, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x22, 0x95, 0x07, 0x81, 0x03)
	case formPress:
		d = append(d, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x06, 0x95, 0x07, 0x81, 0x03)
	case formButtons:
		d = append(d, 0x15, 0xff, 0x25, 0x01, 0x75, 0x02, 0x95, 0x01, 0x09, 0x2f, 0x81, 0x26, 0x75, 0x06, 0x81, 0x03)
	}
	return append(d, 0xc0)
}
