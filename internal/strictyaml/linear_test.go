package strictyaml

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longFiles are the forms that a file of n entries may have.
var longFiles = map[string]func(n int) string{
	"list of JSON on one line": func(n int) string {
		return `{"inners": [` + repeated(n, ", ", `{"vid": "12%02d", "list": ["alsa_input.usb", "Acme 700 Mono", "usb:1-1"]}`) + "]}"
	},
	"JSON, a value on each line": func(n int) string {
		return "{\n \"inners\": [\n" + repeated(n, ",\n", "  {\n   \"vid\": \"12%02d\",\n   \"list\": [\n    \"alsa_input.usb\",\n    \"usb:1-1\"\n   ]\n  }") + "\n ]\n}"
	},
	"keys of JSON on one line": func(n int) string { return `{"words": {` + repeated(n, ", ", `"key%d": "a word"`) + "}}" },
	"words on one line":        func(n int) string { return "{inner: {list: [" + repeated(n, ", ", "word%d") + "]}}" },
	"one long text":            func(n int) string { return `{"name": "` + repeated(n, " ", "many words %d") + `"}` },
	"keys with comments":       func(n int) string { return "# a\n\n# b\nwords:\n" + repeated(n, "\n", "  # c\n\n  key%d: a word # d") },
	"list": func(n int) string {
		return "inners:\n" + repeated(n, "\n", "- vid: '12%02d'\n  list: ['alsa_input.usb', \"usb:1-1\"]")
	},
}

func repeated(n int, between, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, between)
}

// TestLineIsReadOnce, however many quoted words are on it: a file that a program writes may be a single line.
func TestLineIsReadOnce(t *testing.T) {
	text := longFiles["list of JSON on one line"](7000)
	require.Less(t, len(text), MaxSize)
	var into all
	_, problems := Decode("f.json", []byte(text), &into) // would take minutes if each word read the whole line
	require.Empty(t, problems)
	require.Len(t, into.Inners, 7000)
}

// BenchmarkLength is the time for each byte of a file, which must not grow with the file.
func BenchmarkLength(b *testing.B) {
	for name, file := range longFiles {
		for _, n := range []int{50, 200, 800, 3200} {
			text := []byte(file(n))
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					var into all
					if _, problems := Decode("f.json", text, &into); len(problems) > 0 {
						b.Fatal(problems)
					}
				}
			})
		}
	}
}
