package main

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// executed runs a command line that ends by itself.
func executed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	code = execute(ctx, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestVersion(t *testing.T) {
	code, out, errs := executed(t, "--version")
	require.Equal(t, exitOK, code, errs)
	require.Regexp(t, `^fakeserver dev \(`+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+`.*\)\n$`, out)
}

func TestWrongFlagsAreSaidInASentence(t *testing.T) {
	for args, want := range map[string]string{
		"--bucket x":                `--bucket: want a whole number, not "x"`,
		"--seed -1":                 `--seed: want a whole number, not below zero, not "-1"`,
		"--refill 3":                `--refill: want a time such as 250ms, 30s or 10m, not "3"`,
		"--pretty=x":                `--pretty: want true or false, not "x"`,
		"conform --patience soon":   `--patience: want a time such as 250ms, 30s or 10m, not "soon"`,
		"run lab.yaml --repeat two": `--repeat: want a whole number, not "two"`,
		"--nope":                    "unknown flag: --nope",
	} {
		code, out, errs := executed(t, strings.Fields(args)...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, out)
		require.Equal(t, "fakeserver: "+want+"\n", errs)
	}
}
