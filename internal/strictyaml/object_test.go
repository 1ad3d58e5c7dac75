package strictyaml

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type Base struct {
	Deeper
	One *int `yaml:"one,omitempty" json:"one,omitempty"`
}

type Deeper struct {
	Deep string `yaml:"deep,omitempty" json:"deep,omitempty"`
	Need string `yaml:"need" json:"need"`
}

type Named struct {
	Word string `yaml:"word,omitempty" json:"word,omitempty"`
}

type embedding struct {
	Own  string `yaml:"own,omitempty" json:"own,omitempty"`
	Base        // its keys are the struct's own
	Last string `yaml:"last,omitempty" json:"last,omitempty"`

	Named `yaml:"named,omitempty" json:"named"` // has a key, so it is a field like others
}

// The keys of an embedded struct are those of the struct that it is in, as in encoding/json.
func TestEmbeddedStructs(t *testing.T) {
	one := 1
	want := embedding{Own: "a", Base: Base{Deeper{"b", "c"}, &one}, Last: "d", Named: Named{"e"}}
	var got embedding
	_, problems := Decode("f", []byte("last: d\none: 1\nneed: c\ndeep: b\nown: a\nnamed: {word: e}\n"), &got)
	require.Empty(t, problems)
	require.Equal(t, want, got)

	text, err := json.Marshal(want)
	require.NoError(t, err)
	got = embedding{}
	_, problems = Decode("f", text, &got)
	require.Empty(t, problems)
	require.Equal(t, want, got)

	for in, want := range map[string][]string{
		"own: a\n":                 {`f:1:1: missing key: "need"`},
		"need: c\nono: 1\n":        {`f:2:1: unknown key: "ono" (did you mean "one"?)`},
		"need: c\nzzzzzzz: 1\n":    {`f:2:1: unknown key: "zzzzzzz" (want one of: own, deep, one, last, named)`},
		"need: c\nbase: {}\n":      {`f:2:1: unknown key: "base" (want one of: own, deep, one, last, named)`},
		"need: c\nneed: d\n":       {`f:2:1: duplicate key: "need" (first on line 1)`},
		"need: c\none: x\n":        {`f:2:6: want a whole number, found text: "x"`},
		"need: c\nword: x\n":       {`f:2:1: unknown key: "word" (want one of: own, deep, one, last, named)`},
		"need: c\nnamed: {}\n":     nil,
		"need: c\nDeeper: {}\n":    {`f:2:1: unknown key: "Deeper" (did you mean "deep"?)`},
		"need: c\none:\ndeep: ~\n": nil,
	} {
		var got embedding
		_, problems := Decode("f", []byte(in), &got)
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.String())
		}
		require.Equal(t, want, texts, in)
	}
}
