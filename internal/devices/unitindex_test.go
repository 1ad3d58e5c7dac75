package devices

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// owner says a second time, by trying each unit, whose device a reading is of.
func owner(g *Grouping, r Reading) *instance {
	var sure, exact, maybe []*instance
	for _, inst := range g.all {
		by := inst.product.GroupBy
		owns := Unknown
		for _, e := range inst.endpoints[:inst.own] {
			container := Unknown
			if r.Container != "" && e.Container != "" {
				container = Of(r.Container == e.Container)
			}
			serial := Unknown
			if r.Serial != "" && e.Serial != "" {
				serial = Of(r.Serial == e.Serial)
			}
			says := container
			if !says.Known() || by == GroupSerial && serial == True {
				says = serial
			}
			if says == True || owns == Unknown {
				owns = says
			}
		}
		if by == GroupModel {
			owns = True
		}
		switch owns {
		case True:
			sure = append(sure, inst)
			if inst.key == unitKey(inst.product, groupID(by, r.Container, r.Serial)) {
				exact = append(exact, inst)
			}
		case Unknown:
			maybe = append(maybe, inst)
		}
	}
	switch {
	case len(exact) == 1:
		return exact[0]
	case len(sure) == 1:
		return sure[0]
	case len(sure) == 0 && len(maybe) == 1:
		return maybe[0]
	}
	return nil
}

func TestReadingsFindTheirUnitAsByTryingEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom([]GroupBy{"", GroupSerial, GroupModel}).Draw(t, "by")
		container := rapid.SampledFrom([]string{"", "c1", "c2", "c3"})
		serial := rapid.SampledFrom([]string{"", "s1", "s2"})
		var eps []Endpoint
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			eps = append(eps, Endpoint{
				ID: fmt.Sprint("mic", i), Type: AudioInput, Bus: USB, VID: "1209", PID: "0700",
				Container: container.Draw(t, "container"), Serial: serial.Draw(t, "serial"),
			})
		}
		r := NewResolver(Rules{Products: []Product{{ID: "p", Links: []Link{{Bus: USB, VID: "1209", PIDs: []string{"0700"}}}, GroupBy: by}}}, Options{OS: Linux})
		g := r.Group(Inputs{Endpoints: eps})
		reading := Reading{Product: "p", Rule: "sources[0]", Container: container.Draw(t, "of container"), Serial: serial.Draw(t, "of serial"), Value: True}
		var found *instance
		if owners := g.owners(identity{"p", reading.Container, reading.Serial}); len(owners) == 1 {
			found = owners[0]
		}
		require.Same(t, owner(g, reading), found)
	})
}

// What was found by name is kept, but not without bound, and found again when it was forgotten.
func TestMemoryOfNamesIsBounded(t *testing.T) {
	var rules Rules
	for i := range 8 {
		name := regexp.MustCompile(fmt.Sprintf("^Acme %d echo", i))
		rules.Products = append(rules.Products, Product{ID: fmt.Sprint("model-", i), Virtual: []EndpointRule{{Type: AudioInput, Name: name}}})
	}
	r := NewResolver(rules, Options{OS: Linux, AudioID: IDNative})
	for round := range 2 {
		for i := range 3 * maxNames / 2 {
			e := Endpoint{Type: AudioInput, ID: fmt.Sprint("n", i), Name: fmt.Sprintf("Acme %d echo", i%8), Virtual: true}
			var want []*product
			for _, p := range r.matcher.products {
				if p.wantsVirtual(&e) {
					want = append(want, p)
				}
			}
			require.Equal(t, want, r.matcher.naming(&e), "round %d", round)
			require.LessOrEqual(t, len(r.matcher.known.byKey), maxNames)
		}
	}
}
