package scenario

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestALongStepTellsThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		sc := mustLoad(t, "clients: [{name: A, stopped: true}]\nsteps:\n- wait: 12s\n- {title: short, wait: 4s}\n")
		report, err := sc.Run(context.Background(), Options{Progress: &said, Version: "v1"})
		require.NoError(t, err)
		require.Equal(t, "[1/2] goes on, 5s of 12s at most  wait 12s\n"+
			"[1/2] goes on, 10s of 12s at most  wait 12s\n"+
			"[1/2] ok           12s  wait 12s\n"+
			"[2/2] ok            4s  short\n", said.String())
		require.Equal(t, "v1", report.Version)
		require.Contains(t, report.System, "/")
		require.Equal(t, report.Results[0].Began.Add(report.Results[0].Took), report.Results[1].Began)
	})
}
