package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	passing = "clients: [{name: A, port: 0}]\nsteps: [{never: {for: 1ms, devices: 0}}]\n"
	failing = "clients: [{name: A, port: 0}]\nsteps: [{expect: {within: 1ms, devices: 0}}]\n"
)

// runScenario runs a scenario with what stands for FILE in the arguments.
func runScenario(t *testing.T, ctx context.Context, text string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", file)
	}
	var out, errs bytes.Buffer
	code = execute(ctx, append([]string{"run"}, args...), stdin, &out, &errs)
	return code, strings.ReplaceAll(out.String(), file, "FILE"), strings.ReplaceAll(errs.String(), file, "FILE")
}

func TestRunPasses(t *testing.T) {
	code, out, errs := runScenario(t, t.Context(), passing, strings.NewReader(""), "FILE", "--repeat", "2")
	require.Equal(t, exitOK, code, errs)
	require.Regexp(t, `^lab: passed, 3 steps, in \d+ms\n$`, out)
	require.Contains(t, errs, "[setup 1/1] ok")
	require.Contains(t, errs, "[round 2, 1/1] ok")
}

func TestRunFails(t *testing.T) {
	folder := t.TempDir()
	junit, markdown := filepath.Join(folder, "junit.xml"), filepath.Join(folder, "report.md")
	require.NoError(t, os.WriteFile(junit, []byte("old"), 0o600))
	code, out, errs := runScenario(t, t.Context(), failing, strings.NewReader(""), "FILE", "--junit", junit, "--markdown", markdown)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "lab: FAILED, 2 steps, 1 failed")
	require.Contains(t, errs, "seen: nothing was reported\n")
	require.Contains(t, errs, "fakeserver: the scenario failed\n")

	data, err := os.ReadFile(junit)
	require.NoError(t, err)
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	require.NoError(t, xml.Unmarshal(data, &suites))
	require.Equal(t, 1, suites.Failures)
	data, err = os.ReadFile(markdown)
	require.NoError(t, err)
	require.Contains(t, string(data), "| **FAILED** |")
	require.Equal(t, []string{"junit.xml", "report.md"}, names(t, folder))
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestRunRefuses(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none", "report")
	for name, tc := range map[string]struct {
		text string
		args []string
		want string
	}{
		"a wrong file":       {"clients: []\n", []string{"FILE"}, "FILE:1:1: missing key: \"steps\"\nFILE:1:10: the value is missing (write one, or leave the key out)\nfakeserver: the scenario has problems (2)\n"},
		"a wrong file alone": {"clients: []\n", []string{"FILE", "--check"}, "fakeserver: the scenario has problems (2)\n"},
		"no file there":      {passing, []string{"FILE.txt"}, "fakeserver: cannot read the scenario: open FILE.txt"},
		"no file":            {passing, nil, "fakeserver: want one scenario file, found 0, see run --help\n"},
		"two files":          {passing, []string{"FILE", "FILE"}, "fakeserver: want one scenario file, found 2"},
		"repeat":             {passing, []string{"FILE", "--repeat", "0"}, "fakeserver: --repeat: cannot run the steps 0 times\n"},
		"timeout":            {passing, []string{"FILE", "--timeout", "-1s"}, "fakeserver: --timeout: -1s is below zero\n"},
		"a flag":             {passing, []string{"FILE", "--junti", "x"}, "fakeserver: unknown flag: --junti\n"},
		"junit":              {passing, []string{"FILE", "--junit", nowhere}, "fakeserver: --junit: cannot write the report: "},
		"markdown":           {passing, []string{"FILE", "--markdown", nowhere}, "fakeserver: --markdown: cannot write the report: "},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := runScenario(t, t.Context(), tc.text, strings.NewReader(""), tc.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, out)
			require.Contains(t, errs, tc.want)
		})
	}
}

func TestRunCheck(t *testing.T) {
	code, out, errs := runScenario(t, t.Context(), failing, strings.NewReader(""), "FILE", "--check")
	require.Equal(t, exitOK, code)
	require.Equal(t, "FILE: no problems\n", out)
	require.Empty(t, errs)
}

func TestRunConfirm(t *testing.T) {
	const text = "clients: [{name: A, port: 0}]\nsteps: [{prompt: First, confirm: true}, {prompt: Second, confirm: true}]\n"
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		asks  int
	}{
		"Enter":         {"\n\n", []string{"FILE"}, 2},
		"nobody":        {"", []string{"FILE"}, 2},
		"not attended":  {"", []string{"FILE", "--unattended"}, 0},
		"one and leave": {"\n", []string{"FILE"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := runScenario(t, t.Context(), text, strings.NewReader(tc.stdin), tc.args...)
			require.Equal(t, exitOK, code)
			require.Equal(t, tc.asks, strings.Count(errs, "Press Enter"))
			require.Contains(t, errs, ">>> Second\n")
		})
	}
}

// An operator who goes away and a signal: the run ends, the report is written.
func TestRunInterrupted(t *testing.T) {
	const text = "clients: [{name: A, port: 0}]\nsteps: [{prompt: Wait for me, confirm: true}, {wait: 1h}]\n"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdin, operator := io.Pipe()
	defer operator.Close()
	file := filepath.Join(t.TempDir(), "lab.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	markdown := filepath.Join(t.TempDir(), "report.md")
	var out bytes.Buffer
	stderr := writer(func(p []byte) {
		if strings.Contains(string(p), "Press Enter") {
			cancel()
		}
	})
	code := execute(ctx, []string{"run", file, "--markdown", markdown}, stdin, &out, stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out.String(), "lab: FAILED, 3 steps, 1 failed, 1 skipped")
	data, err := os.ReadFile(markdown)
	require.NoError(t, err)
	require.Contains(t, string(data), "the run was interrupted")
}

func TestRunTimeout(t *testing.T) {
	code, out, errs := runScenario(t, t.Context(), "clients: [{name: A, port: 0}]\nsteps: [{wait: 1h}]\n", strings.NewReader(""), "FILE", "--timeout", "2s")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "1 failed")
	require.Contains(t, errs, "fakeserver: the time for the whole run, 2s, is over")
}

// A report that cannot be put into place is an error, even when all passed.
func TestRunReportInTheWay(t *testing.T) {
	folder := t.TempDir()
	inTheWay := filepath.Join(folder, "junit.xml")
	file := filepath.Join(t.TempDir(), "lab.yaml")
	require.NoError(t, os.WriteFile(file, []byte("clients: [{name: A, port: 0}]\nsteps: [{prompt: Wait, confirm: true}]\n"), 0o600))
	var out, errs bytes.Buffer
	stderr := writer(func(p []byte) {
		errs.Write(p)
		if strings.Contains(string(p), "Press Enter") {
			_ = os.MkdirAll(filepath.Join(inTheWay, "sub"), 0o700)
		}
	})
	code := execute(t.Context(), []string{"run", file, "--junit", inTheWay}, strings.NewReader("\n"), &out, stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out.String(), "passed")
	require.Contains(t, errs.String(), "fakeserver: --junit: cannot write ")
	require.Equal(t, []string{"junit.xml"}, names(t, folder))

	code, stdout, stderrText := runScenario(t, t.Context(), passing, strings.NewReader(""), "FILE", "--junit", inTheWay)
	require.Equal(t, exitUsage, code, "it is there before the run")
	require.Empty(t, stdout)
	require.Contains(t, stderrText, "fakeserver: --junit: cannot write the report: "+inTheWay+" is a folder")
}

func TestRunResultCannotBePrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	require.NoError(t, os.WriteFile(file, []byte(passing), 0o600))
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	for _, args := range [][]string{{"run", file}, {"run", file, "--check"}} {
		var errs bytes.Buffer
		require.Equal(t, exitFailed, execute(t.Context(), args, strings.NewReader(""), w, &errs), args)
		require.Contains(t, errs.String(), "fakeserver: cannot print to stdout: ")
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
