package texts

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sidetone/internal/testlab"
	"sidetone/internal/wine"

	"github.com/stretchr/testify/require"
)

// languages are all that ship, with their messages.
func languages() map[string]Messages {
	all := make(map[string]Messages)
	for lang, load := range Shipped.shipped {
		all[lang] = load()
	}
	return all
}

func TestEveryLanguageHasEveryMessage(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	for lang, m := range languages() {
		for _, key := range Keys() {
			require.NotEmpty(t, m[key], "%s: %s is missing", lang, key)
		}
		for key, template := range m {
			require.Contains(t, english(), key, "%s: English has no such message", lang)
			require.NoError(t, check(key, template), "%s: %s", lang, key)
			for form, text := range template {
				require.Equal(t, strings.TrimSpace(text), text, "%s: %s: %s", lang, key, form)
				require.NotEmpty(t, text, "%s: %s: %s", lang, key, form)
			}
		}
	}
}

// TestEveryLanguageHasEveryArgument: what English says of something, every other language says, too, in the same cases.
func TestEveryLanguageHasEveryArgument(t *testing.T) {
	for lang, m := range languages() {
		for key, model := range english() {
			all, needed := model.Arguments()
			have, need := m[key].Arguments()
			require.Equal(t, all, have, "%s: %s", lang, key)
			require.Equal(t, needed, need, "%s: %s", lang, key)
			if !model.Plural() {
				continue
			}
			require.Equal(t, model.counted(), m[key].counted(), "%s: %s counts another argument", lang, key)
			for form, text := range m[key] {
				for _, name := range needed {
					require.True(t, name == model.counted() || strings.Contains(text, "{"+name), "%s: %s: %s lacks {%s}", lang, key, form, name)
				}
			}
		}
	}
}

// TestEveryFormShowsWhatItAsksFor: an argument that is there is not lost because a language has another form for it.
func TestEveryFormShowsWhatItAsksFor(t *testing.T) {
	for lang, m := range languages() {
		for key, model := range english() {
			if model.Plural() {
				continue
			}
			for _, form := range model.Forms() {
				args := make(Args)
				for ask := range strings.SplitSeq(form, ",") {
					if name, value, _ := strings.Cut(strings.TrimSpace(ask), "="); name != other {
						args[name] = value + "\x00" + name
					}
				}
				for _, p := range place.FindAllStringSubmatch(model[form], -1) {
					args[p[1]] = "\x00" + p[1]
				}
				text := m[key].form(args, layer{}.category)
				require.ElementsMatch(t, placesOf(model[form]), placesOf(text), "%s: %s: %s", lang, key, form)
			}
		}
	}
}

// placesOf are the arguments that a text shows.
func placesOf(text string) (names []string) {
	for _, p := range place.FindAllStringSubmatch(text, -1) {
		names = append(names, p[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestPluralForms(t *testing.T) {
	for lang, m := range languages() {
		want := map[string]bool{other: true}
		p := Shipped.For(lang)
		for n := range 200 {
			if category := p.layers[0].category(strconv.Itoa(n)); category != "" {
				want[category] = true
			}
		}
		for key, model := range english() {
			if model.Plural() && (len(model) > 1 || len(m[key]) > 1) { // a unit such as "h" may be the same for all numbers
				require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(m[key])), "%s: %s", lang, key)
			}
		}
	}
}

// TestConditionsDiffer: two conditions that read the same cannot be told apart.
func TestConditionsDiffer(t *testing.T) {
	for lang, m := range languages() {
		seen := make(map[string]string)
		for _, key := range Keys() {
			about, is := strings.CutSuffix(key, ".text")
			if !is || !strings.HasPrefix(key, "condition.") {
				continue
			}
			says := strings.Join(slices.Sorted(maps.Values(m[key])), "\n") + "\n" + strings.Join(slices.Sorted(maps.Values(m[about+".remedy"])), "\n")
			if m[key][other] != "{reason}" && m[key][other] != "{mistake}" { // words of somebody else, which differ
				require.Empty(t, seen[says], "%s: %s says the same", lang, key)
			}
			seen[says] = key
		}
	}
}

// TestLeaf: everything may use texts, so it uses nothing of ours.
func TestLeaf(t *testing.T) {
	if wine.Is() {
		t.Skip("Wine has no go")
	}
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for _, dep := range strings.Fields(string(list)) {
		require.True(t, dep == "sidetone/internal/texts" || !strings.HasPrefix(dep, "sidetone/"), dep)
	}
}

// TestAFileOfAnotherKind has a mistake in each line, of which the first ones tell enough.
func TestAFileOfAnotherKind(t *testing.T) {
	vendor := Messages{}
	for i := range 10 * maxMistakes {
		vendor[fmt.Sprint("key", i)] = Template{}
	}
	_, wrong := Shipped.With(map[string]Messages{"de": vendor, "nl": vendor})
	require.Len(t, wrong, maxMistakes)
}
