package camera

import (
	"io/fs"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
)

// TestWhatIsLeftOutIsSaid: of a camera that cannot be asked, why.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	for err, want := range map[error]health.Code{fs.ErrPermission: health.CameraDenied, fs.ErrNotExist: health.CameraHidden, unix.EIO: health.CameraUnreadable} {
		s := &source{Tree: linux.TreeIn(t.TempDir()), log: platformtest.Quiet()}
		for range len(queryRetries) + 1 {
			s.reportUnread(&presence{name: "video0", err: err, failing: time.Unix(1, 0)})
		}
		if len(s.notes) == 0 || s.notes[0].Code != want {
			t.Errorf("%v: %v", err, s.notes)
		}
		healthtest.Raised(t, s.notes...)
	}
}
