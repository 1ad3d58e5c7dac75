package audio

import (
	"os"
	"time"

	"sidetone/internal/platform/files"
)

// How long to wait before the sound server is tried again. Its socket's folder is watched, so
// the timer is for what no folder shows: a server that is there and does not answer.
const (
	retryPresent = 5 * time.Second  // at most, while the socket exists
	retryAbsent  = 30 * time.Second // at most, while it does not
)

// serverWatch says when the sound server is worth another try.
type serverWatch struct {
	*backoff
	socket string // watched; "": none
	path   *files.PathWatch
}

func newServerWatch() *serverWatch { return &serverWatch{backoff: newBackoff()} }

// failed arms the next try of the server at the given socket; "" means that its address is
// not known.
func (w *serverWatch) failed(socket string) {
	ceiling := retryPresent
	if _, err := os.Stat(socket); err != nil {
		ceiling = retryAbsent
	}
	w.backoff.failed(ceiling)
	if socket != "" {
		w.watch(socket)
	}
}

// watch listens for the socket, or what leads to it. Should that fail, the timer is still there.
func (w *serverWatch) watch(socket string) {
	if w.socket != socket {
		w.unwatch()
		path, err := files.NewPathWatch([]string{socket}, false, w.retry.Notify)
		if err != nil {
			return
		}
		w.path, w.socket = path, socket
	}
	w.path.Arm()
}

func (w *serverWatch) unwatch() {
	if w.path != nil {
		_ = w.path.Close()
		w.path, w.socket = nil, ""
	}
}

// worked ends the waiting.
func (w *serverWatch) worked() {
	if w.delay != 0 {
		w.backoff.worked()
		w.unwatch()
	}
}

func (w *serverWatch) close() {
	w.stop()
	w.unwatch()
}
