//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	burstEvery = time.Second // so that bursts can be told apart
	burstFiles = 20
)

// writer makes, writes and removes temporary files in a folder, many at once, as compilers do.
type writer struct {
	dir    string
	bursts atomic.Int64
	end    context.CancelFunc
	done   chan error
}

func startWriter(dir string) *writer {
	ctx, end := context.WithCancel(context.Background())
	w := &writer{dir: dir, end: end, done: make(chan error, 1)}
	go func() { w.done <- w.run(ctx) }()
	return w
}

func (w *writer) run(ctx context.Context) error {
	for pause(ctx, burstEvery) == nil {
		for n := range burstFiles {
			path := filepath.Join(w.dir, fmt.Sprintf("temporary-%d", n))
			if err := errors.Join(os.WriteFile(path, []byte("temporary"), 0o600), os.Remove(path)); err != nil {
				return fmt.Errorf("write temporary files: %w", err)
			}
		}
		w.bursts.Add(1)
	}
	return nil
}

func (w *writer) stop() error {
	w.end()
	return <-w.done
}

// measureWriterWithin writes temporary files into the very folders of the sockets, which have
// to be watched.
func measureWriterWithin(ctx context.Context, period time.Duration, idlers []*idlePair) (rows []row, err error) {
	for _, i := range idlers {
		w := startWriter(i.agent.folder)
		readings, err := watch(ctx, period, i.agent, i.bare)
		if err := errors.Join(err, w.stop()); err != nil {
			return nil, err
		}
		woken, looks := bursts(readings[0], ran), bursts(readings[0], looked)
		limit := int(w.bursts.Load()) + bursts(readings[1], ran)
		rows = append(rows, row{
			figure: fmt.Sprintf("connected and idle on %s, %d bursts of %d temporary files in the folder of the sockets: wake-ups",
				i.server.Kind(), w.bursts.Load(), burstFiles),
			measured: fmt.Sprintf("%d (%d context switches), %d looks for clients", woken, spread(readings[0]), looks),
			baseline: fmt.Sprintf("%d (%d context switches), bare path", bursts(readings[1], ran), spread(readings[1])),
			target:   "≤ 1 a burst, 0 looks", met: woken <= limit && looks == 0,
			note: "A look for clients reads four files and more, each with two calls; the events of a burst are read with a few.",
		})
	}
	return rows, nil
}

// spread is how many context switches there were from the first reading to the last.
func spread(readings []usage) int { return readings[len(readings)-1].switches - readings[0].switches }
