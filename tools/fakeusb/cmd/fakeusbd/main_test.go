//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/tools/fakeusb"
)

type recorder []fakeusb.Command

func (r *recorder) Do(c fakeusb.Command) fakeusb.Answer {
	*r = append(*r, c)
	return fakeusb.Answer{State: &fakeusb.State{Muted: c.On}}
}

func TestServeAnswersEachLine(t *testing.T) {
	in := strings.NewReader(`{"do":"mute","port":1,"on":true}

{"do":"mute","port":"one"}
{"do":"mute","colour":"red"}
nonsense
{"do":"state","port":1}
`)
	var bench recorder
	var out bytes.Buffer
	require.NoError(t, serve(bench.Do, in, &out))
	require.Equal(t, recorder{{Do: fakeusb.DoMute, Port: 1, On: true}, {Do: fakeusb.DoState, Port: 1}}, bench)

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 5)
	require.Contains(t, lines[0], `"muted":true`)
	for _, line := range lines[1:4] {
		require.Contains(t, line, `"error":"command `)
	}
	require.Contains(t, lines[2], "colour")
	require.Contains(t, lines[4], `"muted":false`)
}

func TestServeReportsALineThatIsTooLong(t *testing.T) {
	require.Error(t, serve(new(recorder).Do, strings.NewReader(strings.Repeat("x", 1<<20)), &bytes.Buffer{}))
}
