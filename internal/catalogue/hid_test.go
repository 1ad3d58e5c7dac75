package catalogue

import (
	"encoding/json"
	"reflect"
	"testing"

	"sidetone/internal/devices"
	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

func ptr[T any](v T) *T { return &v }

// hidCatalogue holds each kind of HID source with all that it may say, and no fault.
func hidCatalogue() *Catalogue {
	query := HIDQuery{
		Interface: ptr(3), Output: []hid.Bytes{{0xc9, 0x64}, {0x02}},
		Expect: []ByteTest{
			{Byte: 0, Eq: ptr(Byte(0x64))}, {Byte: 1, Mask: ptr(Byte(0x0f)), In: []Byte{1, 2}}, {Byte: 2, Min: ptr(Byte(3)), Max: ptr(Byte(7))},
		},
		Value: ByteValue{
			Byte: 12, Mask: ptr(Byte(0x80)), On: []Byte{0x80}, Off: []Byte{0}, Invert: true, Valid: []ByteTest{{Byte: 2, Eq: ptr(Byte(1))}},
		},
		At: []hid.Moment{hid.AtAttach, hid.AtLinkUp}, AskOn: []ByteTest{{Byte: 0, Eq: ptr(Byte(0x65))}}, TimeoutMS: 250,
	}
	feature := HIDQuery{Feature: hid.Bytes{0x00, 0x21}, Value: ByteValue{Byte: 2}}
	level := HIDReport{ReportID: ptr(Byte(6)), Value: &ByteValue{Byte: 1}, DebounceMS: 30}
	repeated := HIDReport{ReportID: ptr(Byte(7)), Value: &ByteValue{Byte: 1}, MaxAgeMS: 5000}
	toggle := HIDReport{
		Interface: ptr(0), ReportID: ptr(Byte(100)), When: []ByteTest{{Byte: 1, Eq: ptr(Byte(2))}}, Value: &ByteValue{Byte: 3, Off: []Byte{0}},
		Kind: HIDToggle, DebounceMS: 50, Anchor: &Anchor{Start: ptr(false), HIDReport: &level, HIDQuery: &feature},
	}
	usage := HIDUsage{Interface: ptr(255), Page: "0c", Usage: "E2", Kind: HIDToggle, DebounceMS: 5000, Anchor: &Anchor{Start: ptr(true), LinkUp: ptr(false)}}
	again := []ByteTest{{Byte: 0, Eq: ptr(Byte(0x65))}}
	reads := HIDQuery{Feature: hid.Bytes{0x00, 0x1f}, Value: ByteValue{Byte: 9}, DelayMS: 30, RetryOn: []ByteTest{{Byte: 1, Eq: ptr(Byte(1))}}, AskOn: again}
	input := HIDQuery{Input: hid.Bytes{2}, Value: ByteValue{Byte: 1}, AskOn: again}
	lamp := HIDQuery{LastOutput: hid.Bytes{0}, Value: ByteValue{Byte: 1}, PollMS: 2000}
	first, second := []ByteTest{{Byte: 1, Eq: ptr(Byte(0x11))}}, []ByteTest{{Byte: 1, Eq: ptr(Byte(0x12))}}
	session := HIDQuery{Steps: []HIDStep{
		{Output: hid.Bytes{6, 1}},
		{SetFeature: hid.Bytes{0x24, 0x11}, Expect: first, RetryOn: again, PauseMS: 50},
		{ReadFeature: hid.Bytes{0x24}},
		{Output: hid.Bytes{6, 0x12}, Expect: second},
		{ReadInput: hid.Bytes{7}, Expect: second},
	}, Value: ByteValue{Byte: 1}, AskOn: again}
	pp := HIDPP{Framing: HIDPPCenturion, Interface: ptr(2), DeviceIndex: ptr(Byte(0xff)), Feature: "0601", Read: ptr(1), Event: Events{0}, Value: ByteValue{Byte: 1}, TimeoutMS: 10, AskOn: again}
	return catalogueOf(Product{
		ID: "p", Links: []Link{usbLink("0700")}, AllowWrite: true, Traces: []string{"traces/p.jsonl"},
		Sources: []SourceRule{
			{Field: devices.HardwareMute, Firmware: &Firmware{Min: "0100", Max: "01Ff"}, SourceKind: SourceKind{HIDUsage: &usage}},
			muteOf(SourceKind{HIDUsage: &HIDUsage{Invert: true}}),
			{Field: devices.HardwareMute, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{HIDReport: &toggle}},
			muteOf(SourceKind{HIDQuery: &query}),
			{Field: devices.NoiseSuppression, SourceKind: SourceKind{HIDPP: &pp}},
			{Field: devices.NoiseSuppression, SourceKind: SourceKind{HIDUsage: &HIDUsage{
				Page: "ffa0", Usage: "b5", Read: HIDReadFeature, On: []Byte{1, 2}, Off: []Byte{0}, AskOnUsage: Usages{"9c", "b5"}, DelayMS: 20,
				PollMS: 2000, TimeoutMS: 100,
			}}},
			{Field: devices.AutomaticGainControl, SourceKind: SourceKind{HIDQuery: &reads}},
			{Field: devices.AutomaticGainControl, SourceKind: SourceKind{HIDQuery: &input}},
			{Field: devices.AutomaticGainControl, SourceKind: SourceKind{HIDQuery: &lamp}},
			{Field: devices.AutomaticGainControl, SourceKind: SourceKind{HIDQuery: &session}},
			{Field: devices.EchoCancellation, SourceKind: SourceKind{Derive: &Derive{Or: []SourceKind{
				{Const: ptr(false)},
				{Derive: &Derive{And: []SourceKind{{HIDReport: &level}, {HIDReport: &repeated}, {HIDQuery: &query}}}},
			}}}},
		},
		LinkState: []LinkRule{
			{OS: []devices.OS{devices.Windows}, SourceKind: SourceKind{HIDQuery: &query}},
			{SourceKind: SourceKind{HIDReport: &level}, Firmware: &Firmware{Min: "0200"}},
		},
	})
}

// A catalogue is a part of a recording, which is JSON.
func TestCatalogueInJSON(t *testing.T) {
	for name, c := range map[string]*Catalogue{"hid": hidCatalogue(), "sound": soundCatalogue()} {
		require.Empty(t, c.Check(), name)
		text, err := json.Marshal(c)
		require.NoError(t, err)
		back := new(Catalogue)
		require.NoError(t, json.Unmarshal(text, back))
		require.Equal(t, c, back, name)
	}
}

// hidCatalogue has every field of the HID rules, so that none is left out of the test above.
func TestHIDCatalogueIsComplete(t *testing.T) {
	unset := map[string]bool{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[HIDUsage](), reflect.TypeFor[HIDReport](), reflect.TypeFor[HIDQuery](), reflect.TypeFor[HIDStep](), reflect.TypeFor[HIDPP](),
		reflect.TypeFor[Anchor](), reflect.TypeFor[ByteTest](), reflect.TypeFor[ByteValue](), reflect.TypeFor[Derive](),
	} {
		for f := range typ.Fields() {
			unset[typ.Name()+"."+f.Name] = true
		}
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if !v.Field(i).IsZero() {
					delete(unset, v.Type().Name()+"."+v.Type().Field(i).Name)
				}
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(hidCatalogue()))
	require.Empty(t, unset)
}

func TestByteText(t *testing.T) {
	for text, want := range map[string]Byte{"0": 0, "100": 100, "255": 255, "0x64": 100, "0XfF": 255, "0x5": 5} {
		var b Byte
		require.NoError(t, b.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, b, text)
		out, err := b.MarshalText()
		require.NoError(t, err)
		var back Byte
		require.NoError(t, back.UnmarshalText(out))
		require.Equal(t, want, back)
	}
	for _, text := range []string{"", "256", "-1", "+1", "064", "00", "0x", "0x100", "64h", "1.0", "1e1", "0b1", "0x-1"} {
		var b Byte
		require.EqualError(t, b.UnmarshalText([]byte(text)), "want a byte such as 0x64 or 100", text)
	}
}
