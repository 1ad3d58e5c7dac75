package audio

import (
	"math/rand/v2"
	"os"
	"time"

	"sidetone/internal/platform/files"
	"sidetone/internal/signal"
)

// How long to wait before the sound server is tried again. Its socket's folder is watched, so
// the timer is for what no folder shows: a server that is there and does not answer.
const (
	retryFirst    = 100 * time.Millisecond
	retryPresent  = 5 * time.Second  // at most, while the socket exists
	retryAbsent   = 30 * time.Second // at most, while it does not
	retryVariance = 0.2
)

// serverWatch says when the sound server is worth another try.
type serverWatch struct {
	retry  signal.Signal
	timer  *time.Timer
	delay  time.Duration
	socket string // watched; "": none
	path   *files.PathWatch
}

func newServerWatch() *serverWatch { return &serverWatch{retry: signal.New()} }

// failed arms the next try of the server at the given socket; "" means that its address is
// not known.
func (w *serverWatch) failed(socket string) {
	ceiling := retryPresent
	if _, err := os.Stat(socket); err != nil {
		ceiling = retryAbsent
	}
	w.delay = min(max(2*w.delay, retryFirst), ceiling)
	spread := 1 - retryVariance + 2*retryVariance*rand.Float64()
	w.stop()
	w.timer = time.AfterFunc(time.Duration(float64(w.delay)*spread), w.retry.Notify)
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

func (w *serverWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// worked ends the waiting.
func (w *serverWatch) worked() {
	if w.delay == 0 {
		return
	}
	w.delay = 0
	w.stop()
	w.unwatch()
}

// due delivers when a try is due.
func (w *serverWatch) due() <-chan struct{} { return w.retry }

func (w *serverWatch) close() {
	w.stop()
	w.unwatch()
}
