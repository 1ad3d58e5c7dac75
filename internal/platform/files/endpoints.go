// Package files reads and watches files that others write: those that describe endpoints, and the state file.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/strictyaml"
)

// fileSource lists the endpoints that a file names.
type fileSource struct {
	*fileWatch
	given string // the path as it was given

	mu    sync.Mutex
	good  *[]devices.Endpoint // the last good content, if there is any
	notes []health.Condition  // of the last List
	retry time.Duration       // until List is due without an event; 0 = never
}

// NewEndpoints returns the source "file:PATH": the endpoints that the YAML or JSON file at path
// names under the key endpoints, each in the form of devices.Endpoint. The file is read again
// whenever it changes, is replaced, or appears.
//
// A file that is there but cannot be used, as while it is being written, leaves the last good
// content in force; the source's notes say so. A file that is not there, or that was never
// good, is an error of List. Who writes the file should rename a whole one into place: one
// that is cut between two entries looks whole.
func NewEndpoints(path string) (platform.Source, error) {
	watch, err := watchFile("endpoints file", path)
	if err != nil {
		return nil, err
	}
	return &fileSource{fileWatch: watch, given: path}, nil
}

// Name is "file:" and the path as it was given.
func (s *fileSource) Name() string { return "file:" + s.given }

// Wait returns after the file may have changed, or what leads to it.
func (s *fileSource) Wait(ctx context.Context) error {
	s.mu.Lock()
	retry := s.retry
	s.mu.Unlock()
	return s.wait(ctx, retry)
}

// Notes says what is wrong with the file while its last good content is kept, and whether
// changes go unnoticed.
func (s *fileSource) Notes() []health.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// List returns the endpoints of the file, or of its last good content.
func (s *fileSource) List(ctx context.Context) ([]devices.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes, s.retry = nil, 0
	r, err := readInTime(ctx, s.fileWatch, s.read)
	if r.unwatched != nil {
		s.retry = fileRetry
		s.notes = append(s.notes, s.unwatched(s.given, r.unwatched))
	}
	switch {
	case err == nil:
		s.good = &r.endpoints
	case errors.Is(err, fs.ErrNotExist):
		s.good = nil
	}
	if s.good == nil {
		return nil, platform.Trouble(fmt.Errorf("endpoints file: %w", err), health.EndpointFileWrong, health.Args{"path": s.given})
	}
	if err != nil {
		s.notes = append(s.notes, health.Wrap(err, health.EndpointFileKept, health.Warning, health.Args{"path": s.given}).Condition)
	}
	return slices.Clone(*s.good), nil
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

// problemsError shows the first problem, with its position, and how many more there are.
func problemsError(problems []strictyaml.Problem) error {
	if len(problems) == 1 {
		return errors.New(problems[0].String())
	}
	return fmt.Errorf("%v, and %d more", problems[0], len(problems)-1)
}
