package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordIntoAFolder(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		f := recordFile{path: t.TempDir(), force: force}
		require.EqualError(t, f.write([]byte(`{"t":"0s"}`)), "record: "+f.path+" is a folder: name a file")
	}
}
