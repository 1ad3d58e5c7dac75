package conform

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// At the real client's pace, the desktop profile does everything of it that can be
// seen from outside, and a run takes no longer than it announces.
func TestDesktopAtItsOwnPace(t *testing.T) {
	t.Parallel()
	const origin = "https://acme.example"
	for name, parts := range map[string]struct{ url, ipc bool }{
		"all":         {url: true, ipc: true},
		"without IPC": {url: true},
		"IPC alone":   {ipc: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				srv, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Desktop, Origins: []string{origin}})
				switch {
				case !parts.ipc:
					target.IPC = ""
				case !parts.url:
					target.URL = ""
				default:
					target.Origin = origin
				}
				var announced time.Duration
				report := m.conform(t, target, Options{All: true, Progress: func(p Progress) {
					announced = max(announced, p.Remaining)
				}})
				for _, c := range report.Checks {
					switch {
					case c.ID == "ws-early-frame" && strings.HasPrefix(c.Why, "READY comes at once"):
					case c.Group == InWebSocket && c.Why == "no READY":
					default:
						require.Equal(t, Same, c.Client.Verdict, "%s: %s%s", c.ID, c.Got, c.Why)
					}
				}
				t.Log("announced", announced, "took", report.Took, "checks", len(report.Checks))
				require.LessOrEqual(t, report.Took, announced)
				require.Empty(t, srv.DevicesOf(ExampleClientID))
				require.Empty(t, report.Notes)
			})
		})
	}
}
