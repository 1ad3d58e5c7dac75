package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportOfARecording(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "report", "--recording", exampleTrace, "--catalogue", exampleCatalogue, "--lang", "en", "-")
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Regexp(t, `From the recording .*headset-700-mute.jsonl`, o.stdout)
	require.Contains(t, o.stdout, "Not muted\u2069 → \u2068Muted")
	require.Contains(t, o.stdout, "a recording does not tell how clients are now")

	folder := t.TempDir()
	o = sidetone(t, []string{"HOME=" + folder}, "report", "--recording", exampleTrace, "--catalogue", exampleCatalogue)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Equal(t, filepath.Join(folder, "sidetone-report.html")+"\n", o.stdout)
	require.NoError(t, os.Remove(filepath.Join(folder, "sidetone-report.html")))

	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no settings":       {[]string{"--recording", exampleTrace, filepath.Join(folder, "a.html")}, exitBadInput, "with --catalogue FILE"},
		"no such recording": {[]string{"--recording", filepath.Join(folder, "none"), "-"}, exitBadInput, "no such file"},
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
