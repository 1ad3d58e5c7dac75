package audio

import (
	"os"
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
	notify func() // called when the server may have come
	socket string // watched; "": none
	path   *files.PathWatch
}

// failed schedules the next try of the server at socket; "" means that the address is unknown.
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

// watch watches the socket and what leads to it. If that fails, the timer remains.
func (w *serverWatch) watch(socket string) {
	if w.socket != socket {
		w.unwatch()
		path, err := files.NewPathWatch([]string{socket}, false, w.notify)
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

// worked resets the wait.
func (w *serverWatch) worked() {
	if w.delay != 0 {
		w.backoff.worked()
		w.unwatch()
	}
}
