package platform

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
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
	bell  bell
	timer *time.Timer
	delay time.Duration
	dir   string // watched, "" = none
	nodes *reader
}

func newServerWatch() *serverWatch { return &serverWatch{bell: newBell()} }

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
	w.timer = time.AfterFunc(time.Duration(float64(w.delay)*spread), w.bell.ring)
	if socket != "" {
		w.watch(socket)
	}
}

// watch looks for the next missing part of the socket's path. Should that fail, the timer is
// still there.
func (w *serverWatch) watch(socket string) {
	dir, name := filepath.Split(socket)
	dir = filepath.Clean(dir)
	for dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir, name = filepath.Dir(dir), filepath.Base(dir)
	}
	if dir == w.dir {
		return
	}
	w.unwatch()
	nodes, err := watchNodes(dir, func(n string) bool { return n == name }, w.bell.ring)
	if err == nil {
		w.nodes, w.dir = nodes, dir
	}
}

func (w *serverWatch) unwatch() {
	if w.nodes != nil {
		_ = w.nodes.Close()
		w.nodes, w.dir = nil, ""
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
func (w *serverWatch) due() <-chan struct{} { return w.bell }

func (w *serverWatch) close() {
	w.stop()
	w.unwatch()
}
