package devices

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Makers give one serial number to many devices: what one of them says is not of another.
func TestEqualSerialNumbers(t *testing.T) {
	here := with(usb("mic", AudioInput, "0700"), func(e *Endpoint) { e.Container, e.Serial = "c2", "0001" })
	there := with(usb("other", AudioInput, "0700"), func(e *Endpoint) { e.Container, e.Serial = "c1", "0001" })
	bare := with(usb("bare", AudioInput, "0700"), func(e *Endpoint) { e.Serial = "0001" })
	first, second := reading("sources[0]", "c1", "0001", True), reading("sources[0]", "c2", "0001", False)
	without := reading("sources[0]", "", "0001", True)
	for name, c := range map[string]struct {
		by        GroupBy
		endpoints []Endpoint
		readings  []Reading
		want      map[string]Tri
	}{
		"of a headset without endpoints":    {"", []Endpoint{here}, []Reading{first}, map[string]Tri{}},
		"both":                              {"", []Endpoint{here}, []Reading{first, second}, map[string]Tri{"mic": False}},
		"both are there":                    {"", []Endpoint{here, there}, []Reading{first, second}, map[string]Tri{"mic": False, "other": True}},
		"no container to compare":           {"", []Endpoint{bare}, []Reading{first}, map[string]Tri{"bare": True}},
		"no container, of several":          {"", []Endpoint{here, there}, []Reading{without}, map[string]Tri{}},
		"no container, of one":              {"", []Endpoint{here}, []Reading{without}, map[string]Tri{"mic": True}},
		"the vendor groups by it":           {GroupSerial, []Endpoint{here}, []Reading{first}, map[string]Tri{"mic": True}},
		"the vendor takes all for one unit": {GroupModel, []Endpoint{here}, []Reading{first}, map[string]Tri{"mic": True}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *Product) { p.GroupBy = c.by })
			require.Equal(t, c.want, flagsOf(resolveReadings(t, cat, Inputs{Endpoints: c.endpoints, Readings: c.readings}), HardwareMute))
		})
	}
}

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
			eps = append(eps, with(usb(fmt.Sprint("mic", i), AudioInput, "0700"), func(e *Endpoint) {
				e.Container, e.Serial = container.Draw(t, "container"), serial.Draw(t, "serial")
			}))
		}
		r, err := NewResolver(hidProduct(func(p *Product) { p.GroupBy = by }), Options{OS: Linux})
		require.NoError(t, err)
		g := r.Group(eps, nil)
		reading := reading("sources[0]", container.Draw(t, "of container"), serial.Draw(t, "of serial"), True)
		var found *instance
		if owners := g.owners(reading); len(owners) == 1 {
			found = owners[0]
		}
		require.Same(t, owner(g, reading), found)
	})
}

// What was found by name is kept, but not without bound, and found again when it was forgotten.
func TestMemoryOfNamesIsBounded(t *testing.T) {
	r, err := NewResolver(benchCatalogue(8), Options{OS: Linux, AudioID: IDNative})
	require.NoError(t, err)
	for round := range 2 {
		for i := range 3 * maxNamed / 2 {
			e := Endpoint{Type: AudioInput, ID: fmt.Sprint("n", i), Name: fmt.Sprintf("Acme %d echo", i%8), Virtual: true}
			var want []*product
			for _, p := range r.matcher.products {
				if p.wantsVirtual(&e) {
					want = append(want, p)
				}
			}
			require.Equal(t, want, r.matcher.wanting(&e), "round %d", round)
			require.LessOrEqual(t, len(r.matcher.known.named), maxNamed)
		}
	}
}
