package catalogue

import (
	"testing"

	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestResolverRefusesBadExpressions(t *testing.T) {
	for name, p := range map[string]Product{
		"link":    {Links: []Link{{Kind: LinkJack, NameRegex: "("}}},
		"pick":    {Endpoints: []EndpointRule{{Type: devices.AudioInput, Pick: &Pick{NameRegex: "("}}}},
		"source":  {Sources: []SourceRule{{Field: devices.HardwareMute, Pick: &Pick{NameRegex: "("}}}},
		"virtual": {VirtualEndpoints: []VirtualRule{{Type: devices.AudioInput, NameRegex: "("}}},
	} {
		p.ID = "odd"
		_, err := NewResolver(catalogueOf(p), devices.Options{OS: devices.Linux})
		require.ErrorContains(t, err, `product "odd"`, name)
	}
}
