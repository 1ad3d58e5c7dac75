package config

import (
	"flag"
	"testing"

	"sidetone/internal/strictyaml"
	"sidetone/internal/strictyaml/strictyamltest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestBrokenConfigs(t *testing.T) {
	strictyamltest.Golden(t, "testdata/config", *update, func(file string, data []byte) []strictyaml.Problem {
		l := gather(Options{})
		l.decode(LayerUser, file, data)
		if len(l.problems) == 0 {
			l.check()
		}
		return l.problems
	})
}
