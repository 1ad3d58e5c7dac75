package agent_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var seed = flag.Uint64("seed", 0, "play only the hour of this seed")

func seeds(fixed ...uint64) []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	return fixed
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
