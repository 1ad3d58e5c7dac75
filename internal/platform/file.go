package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

const (
	// fileSettle joins the events of one write: a file is truncated before it is filled.
	fileSettle = 30 * time.Millisecond
	// fileRetry is how often a file is read whose changes cannot be watched.
	fileRetry = 30 * time.Second
)

// fileSource lists the endpoints that a file names.
type fileSource struct {
	given, path string // as given and absolute
	log         *slog.Logger
	watcher     *fsnotify.Watcher
	points      atomic.Pointer[map[string]bool] // paths whose events count
	changed     bell
	closed      chan struct{}
	gate        gate

	mu    sync.Mutex
	good  *[]devices.Endpoint // the last good content, if there is any
	notes []string            // of the last List
	retry time.Duration       // until List is due without an event; 0 = never
	said  string              // the notes that the log has
}

// NewFile returns the source "file:PATH": the endpoints that the YAML or JSON file at path
// names under the key endpoints, each in the form of devices.Endpoint. The file is read again
// whenever it changes, is replaced, or appears.
//
// A file that is there but cannot be used, as while it is being written, leaves the last good
// content in force; the source's notes say so. A file that is not there, or that was never
// good, is an error of List. Who writes the file should rename a whole one into place: one
// that is cut between two entries looks whole.
func NewFile(path string, log *slog.Logger) (Source, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("endpoints file %s: %w", path, err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the endpoints file %s: %w", path, err)
	}
	s := &fileSource{
		given:   path,
		path:    absolute,
		log:     log,
		watcher: watcher,
		changed: newBell(),
		closed:  make(chan struct{}),
		gate:    newGate(),
	}
	s.points.Store(&map[string]bool{})
	go s.hear()
	return s, nil
}

// hear ends when the watcher is closed.
func (s *fileSource) hear() {
	defer close(s.closed)
	for {
		select {
		case event, open := <-s.watcher.Events:
			if !open {
				return
			}
			if (*s.points.Load())[fold(event.Name)] {
				s.changed.ring()
			}
		case err, open := <-s.watcher.Errors:
			if !open {
				return
			}
			s.log.Debug("endpoints file: events may have been lost", "path", s.path, "err", err)
			s.changed.ring()
		}
	}
}

// Name is "file:" and the path as it was given.
func (s *fileSource) Name() string { return "file:" + s.given }

// Close ends Wait and the watching.
func (s *fileSource) Close() error {
	err := s.watcher.Close()
	<-s.closed
	return err
}

// Wait returns after the file may have changed, or what leads to it.
func (s *fileSource) Wait(ctx context.Context) error {
	s.mu.Lock()
	retry := s.retry
	s.mu.Unlock()
	rung, err := s.changed.wait(ctx, retry, s.closed)
	if rung {
		return s.settle(ctx)
	}
	return err
}

// settle lets a write end. It waits once, not for silence: a file that is written to all the
// time is read all the same.
func (s *fileSource) settle(ctx context.Context) error {
	timer := time.NewTimer(fileSettle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closed:
		return os.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.changed:
	default:
	}
	return nil
}

// Notes says what is wrong with the file while its last good content is kept, and whether
// changes go unnoticed.
func (s *fileSource) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// List returns the endpoints of the file, or of its last good content.
func (s *fileSource) List(ctx context.Context) ([]devices.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes, s.retry = nil, 0
	defer s.say()
	r, err := within(ctx, s.gate, s.read)
	if r.unwatched != nil {
		s.retry = fileRetry
		s.note("changes of %s cannot be watched, it is read every %v: %v", s.given, fileRetry, r.unwatched)
	}
	switch {
	case err == nil:
		s.good = &r.endpoints
	case errors.Is(err, fs.ErrNotExist):
		s.good = nil
	}
	if s.good == nil {
		return nil, fmt.Errorf("endpoints file: %w", err)
	}
	if err != nil {
		s.note("%v; keeping the last good content", err)
	}
	return slices.Clone(*s.good), nil
}

func (s *fileSource) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// say logs the notes when they have changed.
func (s *fileSource) say() {
	text := strings.Join(s.notes, "; ")
	if text != s.said && text != "" {
		s.log.Warn("endpoints file: " + text)
	}
	s.said = text
}

type fileReading struct {
	endpoints []devices.Endpoint
	unwatched error
}

// read arms the watcher, then reads: a change after that is an event.
func (s *fileSource) read() (fileReading, error) {
	r := fileReading{unwatched: s.arm()}
	data, err := strictyaml.ReadFile(s.path)
	if err != nil {
		return r, err
	}
	endpoints, problems := decodeEndpoints(s.given, data)
	if len(problems) > 0 {
		return r, problemsError(problems)
	}
	r.endpoints = endpoints
	return r, nil
}

// arm watches the folders of all waypoints: a file's own events end with the file, those of
// its folder tell of its successor too.
func (s *fileSource) arm() error {
	points, folders := map[string]bool{}, map[string]bool{}
	for _, p := range waypoints(s.path) {
		folder := filepath.Dir(p)
		points[fold(p)], points[fold(folder)], folders[folder] = true, true, true
	}
	s.points.Store(&points)
	var errs []error
	for folder := range folders {
		if err := s.watcher.Add(folder); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", folder, err))
		}
	}
	for _, old := range s.watcher.WatchList() {
		if !folders[old] {
			_ = s.watcher.Remove(old) // it may be gone already
		}
	}
	return errors.Join(errs...)
}

// fold makes names equal that a file system may hold to be equal. Where it does not, an event
// too many does no harm.
func fold(path string) string { return strings.ToLower(path) }

// problemsError shows the first problem, with its position, and how many more there are.
func problemsError(problems []strictyaml.Problem) error {
	if len(problems) == 1 {
		return errors.New(problems[0].String())
	}
	return fmt.Errorf("%v, and %d more", problems[0], len(problems)-1)
}
