package pulse

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain":                  "plain",
		"Mikrofon für Müller":    "Mikrofon für Müller",
		"ends\x00":               "ends",
		"ends\x00\x00":           "ends",
		"\x00":                   "",
		"a\x00b":                 "a\uFFFDb",
		"latin1 \xfc":            "latin1 \uFFFD",
		"\xff\xfe\xfd":           "\uFFFD",
		"cut short \xe2\x82":     "cut short \uFFFD",
		"\xed\xa0\x80 surrogate": "\uFFFD surrogate",
	} {
		require.Equal(t, want, clean([]byte(in)), "%q", in)
	}
}

func TestCleanIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		s := clean(b)
		require.True(t, utf8.ValidString(s))
		require.NotContains(t, s, "\x00")
		require.Equal(t, s, clean([]byte(s)))
	})
}

func TestPropsRoundTrip(t *testing.T) {
	key := rapid.StringMatching(`[a-z.]{1,20}`)
	value := rapid.StringMatching(`[ -~ä€]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(key, value).Draw(t, "props")
		var e encoder
		e.props(want)
		got, err := parse(e.b, 0, (*decoder).props)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestMalformed(t *testing.T) {
	long := strings.Repeat("x", maxString+1)
	blob := func(announced, sent uint32) []byte {
		e := encoder{b: []byte{tagProps}}
		e.str("key")
		e.u32(announced)
		e.b = binary.BigEndian.AppendUint32(append(e.b, tagBlob), sent)
		return append(append(e.b, "value"...), tagNullString)
	}
	read := map[string]func(*decoder){
		"u32": func(d *decoder) { d.u32() }, "u8": func(d *decoder) { d.u8() }, "bool": func(d *decoder) { d.bool() },
		"str": func(d *decoder) { d.str() }, "props": func(d *decoder) { d.props() }, "count": func(d *decoder) { d.count() },
		"sample spec": func(d *decoder) { d.skip(tagSampleSpec) }, "channel map": func(d *decoder) { d.skip(tagChannelMap) },
		"volume": func(d *decoder) { d.skip(tagCVolume) }, "formats": func(d *decoder) { d.skipFormats() },
	}
	for _, c := range []struct {
		what, in, fails string
	}{
		{"u32", "", "missing"},
		{"u32", "L\x00\x00", "2 bytes missing"},
		{"u32", "B\x01", `want type 'L', got 'B'`},
		{"u8", "B", "missing"},
		{"bool", "", "missing"},
		{"bool", "L", "want a boolean"},
		{"str", "", "missing"},
		{"str", "tno end", "without end"},
		{"str", "t" + long + "\x00", "longer than"},
		{"str", "L\x00\x00\x00\x00", "want a string"},
		{"props", "", "missing"},
		{"props", "N", "want type"},
		{"props", "P", "missing"},
		{"props", "PL", "want a property name"},
		{"props", "Ptkey", "without end"},
		{"props", string(blob(6, 5)), "length 6 announced, 5 sent"},
		{"props", string(blob(0xFFFFFFFF, 0xFFFFFFFF)), "at most"},
		{"props", string(blob(100, 100)), "missing"},
		{"count", "L\x00\x01\x00\x01", "at most 65536"},
		{"sample spec", "a\x00\x00\x00", "missing"},
		{"channel map", "m\xff\x00", "missing"},
		{"volume", "v\xff\x00", "missing"},
		{"volume", "m\x00", "want type"},
		{"formats", "B\x01", "missing"},
		{"formats", "B\x01L", "want type 'f'"},
		{"formats", "B\xfffB\x01PNfB\x01PX", "want a property name"},
	} {
		t.Run(c.what+" "+c.fails, func(t *testing.T) {
			d := decoder{b: []byte(c.in)}
			read[c.what](&d)
			require.ErrorIs(t, d.err, errMalformed)
			require.ErrorContains(t, d.err, c.fails)
			first := d.err
			for _, f := range read { // after an error nothing is read and the error stays
				f(&d)
			}
			require.Equal(t, first, d.err)
			require.False(t, d.more())
		})
	}
}

func TestEndlessLists(t *testing.T) {
	e := encoder{b: []byte{tagProps}}
	for range maxItems + 1 {
		e.str("k")
		e.u32(0)
		e.blob(nil)
	}
	_, err := parse(e.b, 0, (*decoder).props)
	require.ErrorContains(t, err, "more than 65536 properties")

	e = encoder{}
	for range maxItems + 1 {
		e.u32(0)
	}
	_, err = parse(e.b, 0, listOf((*decoder).u32))
	require.ErrorContains(t, err, "more than 65536 entries")
}
