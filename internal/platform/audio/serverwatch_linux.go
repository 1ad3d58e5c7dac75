package audio

import (
	"os"
	"slices"
	"time"

	"sidetone/internal/platform/files"
)

// Maximum waits before the sound server is tried again. Its socket's folder is watched, so the timer is for a server that exists but does
// not answer.
const (
	retryPresent = 5 * time.Second  // while the socket exists
	retryAbsent  = 30 * time.Second // while it does not
)

// serverWatch says when to try the sound server again.
type serverWatch struct {
	backoff
	notify  func()   // called when the server may have come
	sockets []string // watched
	path    *files.PathWatch
}

// failed schedules the next try of the servers at sockets, of which none is known if no place is.
func (w *serverWatch) failed(sockets []string) {
	ceiling := retryAbsent
	if slices.ContainsFunc(sockets, exists) {
		ceiling = retryPresent
	}
	w.backoff.failed(ceiling)
	if len(sockets) > 0 {
		w.watch(sockets)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// watch watches the sockets and what leads to them. If that fails, the timer remains.
func (w *serverWatch) watch(sockets []string) {
	if !slices.Equal(w.sockets, sockets) {
		w.unwatch()
		path, err := files.NewPathWatch(sockets, false, w.notify)
		if err != nil {
			return
		}
		w.path, w.sockets = path, sockets
	}
	w.path.Arm()
}

func (w *serverWatch) unwatch() {
	if w.path != nil {
		_ = w.path.Close()
		w.path, w.sockets = nil, nil
	}
}

// worked resets the wait.
func (w *serverWatch) worked() {
	if w.delay != 0 {
		w.backoff.worked()
		w.unwatch()
	}
}
