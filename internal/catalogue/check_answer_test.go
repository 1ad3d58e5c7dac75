package catalogue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// An answer that another request could have had, or that asks the next question, is warned of.
func TestWhoseAnswerItIs(t *testing.T) {
	const unclear = "the answer to another request, also of another program, may count: nothing in it is compared with the request"
	const step = "the answer to an earlier request of this query would count as that to the last one"
	const loop = "an answer triggers the next question: where two programs ask the device, they never stop"
	byteIs := func(i int, v Byte) ByteTest { return ByteTest{Byte: i, Eq: &v} }
	output := func(expect []ByteTest, requests ...hid.Bytes) HIDQuery {
		return HIDQuery{Output: requests, Expect: expect, Value: ByteValue{Byte: 4, On: []Byte{1}, Off: []Byte{0}}, AskOn: []ByteTest{byteIs(0, 9)}}
	}
	mixed := func(other int) string {
		return fmt.Sprintf("the answer to $.products[0].sources[%d].hid_query would count as the answer to this request", other)
	}
	tests := func(list ...ByteTest) []ByteTest { return list }
	for name, c := range map[string]struct {
		queries []HIDQuery
		want    []string
	}{
		"the property is repeated": {[]HIDQuery{output(tests(byteIs(0, 3), byteIs(3, 0xa6)), hid.Bytes{2, 9, 2, 0xa6})}, nil},
		"it is not":                {[]HIDQuery{output(tests(byteIs(0, 3)), hid.Bytes{2, 9, 2, 0xa6})}, []string{unclear}},
		"the kind, not the property": {[]HIDQuery{
			output(tests(byteIs(0, 3), byteIs(2, 2)), hid.Bytes{2, 9, 2, 0xa6}), output(tests(byteIs(0, 3), byteIs(2, 2)), hid.Bytes{2, 9, 2, 0xa7}),
		}, []string{mixed(1), mixed(0)}},
		"each its property": {[]HIDQuery{
			output(tests(byteIs(0, 3), byteIs(3, 0xa6)), hid.Bytes{2, 9, 2, 0xa6}), output(tests(byteIs(3, 0xa7)), hid.Bytes{2, 9, 2, 0xa7}),
		}, nil},
		"the number of the report":    {[]HIDQuery{output(tests(byteIs(0, 3)), hid.Bytes{2, 3, 2})}, []string{unclear}},
		"a report without number":     {[]HIDQuery{output(tests(byteIs(0, 0xb0)), hid.Bytes{0, 0xb0})}, nil},
		"one number for two requests": {[]HIDQuery{output(tests(byteIs(0, 3)), hid.Bytes{2, 4, 2}, hid.Bytes{2, 3, 2})}, []string{step}},
		"two steps with one answer": {[]HIDQuery{{
			Steps: []HIDStep{{Output: hid.Bytes{2, 4}, Expect: tests(byteIs(0, 3))}, {Output: hid.Bytes{2, 5}, Expect: tests(byteIs(0, 3), byteIs(1, 1))}},
			Value: ByteValue{Byte: 4, On: []Byte{1}, Off: []Byte{0}}, AskOn: tests(byteIs(0, 9)),
		}}, []string{step}},
		"two steps with answers that differ": {[]HIDQuery{{
			Steps: []HIDStep{{Output: hid.Bytes{2, 4}, Expect: tests(byteIs(1, 4))}, {Output: hid.Bytes{2, 5}, Expect: tests(byteIs(1, 5))}},
			Value: ByteValue{Byte: 4, On: []Byte{1}, Off: []Byte{0}}, AskOn: tests(byteIs(0, 9)),
		}}, nil},
		"the last of several":      {[]HIDQuery{output(tests(byteIs(5, 1)), hid.Bytes{6, 3}, hid.Bytes{6, 1})}, nil},
		"a feature that is read":   {[]HIDQuery{{Feature: hid.Bytes{0x22}, Value: ByteValue{Mask: new(Byte(1))}, AskOn: tests(byteIs(0, 9))}}, nil},
		"one that is set at first": {[]HIDQuery{{Feature: hid.Bytes{0x22, 1}, Value: ByteValue{Mask: new(Byte(1))}, AskOn: tests(byteIs(0, 9))}}, []string{unclear}},
		"one that repeats it": {[]HIDQuery{
			{Feature: hid.Bytes{0x22, 1}, Expect: tests(byteIs(1, 1)), Value: ByteValue{Mask: new(Byte(1))}, AskOn: tests(byteIs(0, 9))},
			{Feature: hid.Bytes{0x22, 2}, Expect: tests(byteIs(1, 2)), Value: ByteValue{Mask: new(Byte(1))}, AskOn: tests(byteIs(0, 9))},
		}, nil},
		"any value": {[]HIDQuery{output(tests(ByteTest{Byte: 3, Min: new(Byte(0))}), hid.Bytes{2, 9, 2, 0xa6})}, []string{unclear}},
		"its own trigger": {[]HIDQuery{{
			Output: []hid.Bytes{{2, 1}}, Expect: tests(byteIs(0, 1)), Value: ByteValue{Byte: 1, On: []Byte{1}, Off: []Byte{0}}, AskOn: tests(byteIs(0, 1)),
		}}, []string{unclear, loop}},
		"each other's trigger": {[]HIDQuery{
			{Output: []hid.Bytes{{2, 1}}, Expect: tests(byteIs(0, 1)), Value: ByteValue{Byte: 1, On: []Byte{1}, Off: []Byte{0}}, AskOn: tests(byteIs(0, 3))},
			{Output: []hid.Bytes{{2, 3}}, Expect: tests(byteIs(0, 3)), Value: ByteValue{Byte: 1, On: []Byte{1}, Off: []Byte{0}}, AskOn: tests(byteIs(0, 1))},
		}, []string{unclear, loop, unclear}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Product{ID: "p", AllowWrite: true, Links: []Link{usbLink("0700")}}
			fields := []devices.Field{devices.NoiseSuppression, devices.EchoCancellation}
			for i, q := range c.queries {
				p.Sources = append(p.Sources, SourceRule{Field: fields[i], SourceKind: SourceKind{HIDQuery: &q}})
			}
			cat := catalogueOf(p)
			var got []string
			for _, fault := range cat.Check() {
				got = append(got, fault.Message)
			}
			for _, w := range cat.warnings() {
				got = append(got, w.Message)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Where each report with that number states the value, it does not matter which question it answers.
func TestAnswerThatIsToldAnyway(t *testing.T) {
	value := ByteValue{Byte: 3, On: []Byte{0xb1}, Off: []Byte{0x31}}
	q := HIDQuery{Output: []hid.Bytes{{0xc9, 0x64}}, Expect: []ByteTest{{Byte: 0, Eq: new(Byte(0x64))}}, Value: value}
	for _, c := range []struct {
		report HIDReport
		want   int
	}{
		{HIDReport{ReportID: new(Byte(0x64)), Value: &value}, 0},
		{HIDReport{ReportID: new(Byte(0x64)), Value: &value, When: []ByteTest{{Byte: 1, Eq: new(Byte(1))}}}, 1},
		{HIDReport{ReportID: new(Byte(0x65)), Value: &value}, 1},
		{HIDReport{ReportID: new(Byte(0x64)), Value: &ByteValue{Byte: 2, Mask: new(Byte(1))}}, 1},
	} {
		p := Product{ID: "p", AllowWrite: true, Links: []Link{usbLink("0700")}, Sources: []SourceRule{
			{Field: devices.NoiseSuppression, SourceKind: SourceKind{HIDReport: &c.report}},
			{Field: devices.NoiseSuppression, SourceKind: SourceKind{HIDQuery: &q}},
		}}
		cat := catalogueOf(p)
		require.Empty(t, cat.Check())
		require.Len(t, cat.warnings(), c.want)
	}
}
