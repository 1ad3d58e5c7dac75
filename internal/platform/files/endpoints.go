// Package files reads and watches files that others write, such as endpoint files.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sync"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/strictyaml"
)

// fileSource lists the endpoints in a file.
type fileSource struct {
	*fileWatch

	mu   sync.Mutex
	good *[]devices.Endpoint // the last good content, if there is any
}

// NewEndpoints returns the source "file:PATH": the endpoints in the YAML or JSON file at path, under the key endpoints, each in the form
// of devices.Endpoint. The file is read again whenever it changes, is replaced, or appears.
//
// If an existing file cannot be used, for instance while it is being written, the last good content stays in force, and the notes say so.
// A file that is missing or was never good is an error of Read. Writers should rename a complete file into place: one that is cut between
// two entries looks complete.
func NewEndpoints(path string) (platform.Source, error) {
	watch, err := watchFile("endpoints file", path)
	if err != nil {
		return nil, err
	}
	return &fileSource{fileWatch: watch}, nil
}

// Name returns "file:" and the path as it was given.
func (s *fileSource) Name() string { return "file:" + s.given }

// Read returns the endpoints in the file, or of its last good content. The notes say what is wrong with the file then, and whether changes
// go unnoticed.
func (s *fileSource) Read(ctx context.Context) (r platform.Reading, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoints, err := readWatched(ctx, s.fileWatch, s.read)
	r.Notes = s.Notes()
	switch {
	case err == nil:
		s.good = &endpoints
	case errors.Is(err, fs.ErrNotExist):
		s.good = nil
	}
	if s.good == nil {
		return r, platform.Trouble(fmt.Errorf("endpoints file: %w", err), health.EndpointFileWrong, health.Args{"path": s.given})
	}
	if err != nil {
		r.Notes = append(r.Notes, health.Wrap(err, health.EndpointFileKept, health.Warning, health.Args{"path": s.given}).Condition)
	}
	r.Endpoints = slices.Clone(*s.good)
	return r, nil
}

// read returns the endpoints, or the first problem with its position, and how many more there are.
func (s *fileSource) read() ([]devices.Endpoint, error) {
	data, err := strictyaml.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	endpoints, problems := decodeEndpoints(s.given, data)
	switch len(problems) {
	case 0:
		return endpoints, nil
	case 1:
		return nil, errors.New(problems[0].String())
	default:
		return nil, fmt.Errorf("%v, and %d more", problems[0], len(problems)-1)
	}
}

// endpointFile is the content of an endpoint file.
type endpointFile struct {
	Endpoints []devices.Endpoint `yaml:"endpoints"`
}

var usbID = regexp.MustCompile(`^([0-9a-f]{4})?$`)

// decodeEndpoints decodes an endpoint file. Fields that only the agent can know are dropped, so that the agent's own output can serve as
// a file.
func decodeEndpoints(file string, data []byte) ([]devices.Endpoint, []strictyaml.Problem) {
	var content endpointFile
	doc, problems := strictyaml.Decode(file, data, &content)
	if len(problems) > 0 {
		return nil, problems
	}
	first := map[devices.Key]int{}
	for i := range content.Endpoints {
		e := &content.Endpoints[i]
		e.Source, e.Stale, e.Changed = "", false, nil
		at := fmt.Sprintf("$.endpoints[%d]", i)
		for key, id := range map[string]string{"vid": e.VID, "pid": e.PID} {
			if !usbID.MatchString(id) {
				problems = append(problems, doc.Problem(at+"."+key, "not a USB id", "4 lower-case hex digits in quotes"))
			}
		}
		if e.ID == "" {
			problems = append(problems, doc.Problem(at+".id", "the id is empty", ""))
		}
		if f, twice := first[e.Key()]; twice {
			line, _ := doc.Position(fmt.Sprintf("$.endpoints[%d]", f))
			problems = append(problems, doc.Problem(at+".id", "this type and id are there already", fmt.Sprintf("see line %d", line)))
		} else {
			first[e.Key()] = i
		}
	}
	slices.SortStableFunc(problems, strictyaml.Compare)
	return content.Endpoints, problems
}
