package devices

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMergeFlags(t *testing.T) {
	epoch := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	flag := func(v Tri, since int, via string) Flag {
		return Flag{Value: v, Since: at(since), Origin: Origin{Via: via}}
	}
	cases := map[string]struct {
		in   []Flag
		want Flag
	}{
		"none":                            {nil, Flag{}},
		"one":                             {[]Flag{flag(True, 1, "a")}, flag(True, 1, "a")},
		"all true, since the last":        {[]Flag{flag(True, 1, "a"), flag(True, 3, "b"), flag(True, 2, "c")}, flag(True, 3, "a")},
		"one false decides":               {[]Flag{flag(True, 1, "a"), flag(False, 2, "b"), flag(True, 3, "c")}, flag(False, 2, "b")},
		"two false, since the first":      {[]Flag{flag(False, 2, "a"), flag(True, 9, "b"), flag(False, 1, "c")}, flag(False, 1, "a")},
		"two false, the other way around": {[]Flag{flag(False, 1, "a"), flag(False, 2, "b")}, flag(False, 1, "a")},
		"false beside unknown":            {[]Flag{{}, flag(False, 1, "a")}, flag(False, 1, "a")},
		"true beside unknown":             {[]Flag{flag(True, 1, "a"), {}}, Flag{}},
		"all unknown":                     {[]Flag{{}, {}}, Flag{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, mergeFlags(c.in)) })
	}
}
