package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportOfARecording(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "report", "--recording", exampleTrace, "--catalogue", exampleCatalogue, "--lang", "en", "-")
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Regexp(t, `From the recording .*headset-700-mute.jsonl`, o.stdout)
	require.Contains(t, o.stdout, "Not muted\u2069 → \u2068Muted")
	require.Contains(t, o.stdout, "a recording does not show the current state of clients")

	_, trace := vendor(t)
	edit(t, trace, `{"t": "1.5s", "observe"`, `{"t":"1s","client":{"event":"ready","to":"Discord over ipc"}}
{"t":"1s","client":{"event":"delivered","to":"Discord over ipc","generation":1}}
{"t": "1.5s", "observe"`, `{"t": "5s", "observe"`, `{"t":"2.25s","client":{"event":"delivered","to":"Discord over ipc","generation":2}}
{"t":"4s","client":{"event":"gone","to":"Discord over ipc"}}
{"t": "5s", "observe"`)
	o = sidetone(t, []string{"TZ=UTC"}, "report", "--recording", trace, "--catalogue", exampleCatalogue, "--lang", "en", "-")
	require.Equal(t, exitOK, o.code, o.stderr)
	plain := strings.NewReplacer("\u2068", "", "\u2069", "").Replace(o.stdout)
	for _, row := range []string{ // the newest first
		`00:00:04.000.*Microphone mute, accepted by Discord over ipc.*Muted → Unknown`,
		`00:00:02.250.*Microphone mute, accepted by Discord over ipc.*Not muted → Muted`,
		`00:00:01.500.*Microphone mute.*Not muted → Muted`,
		`00:00:01.000.*Discord over ipc.*Connected`,
	} {
		at := regexp.MustCompile(`(?m)^<tr.*` + row).FindStringIndex(plain)
		require.NotNil(t, at, "%s in %s", row, plain)
		plain = plain[at[1]:]
	}

	folder := t.TempDir()
	absent := error(syscall.ENOENT)
	if runtime.GOOS == "windows" { // whose users have one folder of downloads, which is not a test's
		absent = syscall.Errno(2)
	} else {
		o = sidetone(t, []string{"HOME=" + folder}, "report", "--recording", exampleTrace, "--catalogue", exampleCatalogue)
		require.Equal(t, exitOK, o.code, o.stderr)
		require.Equal(t, filepath.Join(folder, "sidetone-report.html")+"\n", o.stdout)
		require.NoError(t, os.Remove(filepath.Join(folder, "sidetone-report.html")))
	}

	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no settings":       {[]string{"--recording", exampleTrace, filepath.Join(folder, "a.html")}, exitBadInput, "with --catalogue FILE"},
		"no such recording": {[]string{"--recording", filepath.Join(folder, "none"), "-"}, exitBadInput, absent.Error()},
		"a folder":          {[]string{"--recording", exampleTrace, "--catalogue", exampleCatalogue, "--force", folder}, exitFailed, "is no regular file"},
		"no agent":          {[]string{"--control-socket", filepath.Join(folder, "none"), "-"}, exitFailed, "the agent is not running"},
	} {
		o := sidetone(t, nil, append([]string{"report"}, c.args...)...)
		require.Equal(t, c.code, o.code, name)
		require.Contains(t, o.stderr, c.want, name)
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
