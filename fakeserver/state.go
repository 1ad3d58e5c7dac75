package fakeserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sidetone/fakeserver/internal/host"
)

// maxState is the largest state file that is read, in bytes: more than the largest
// lists of all client ids need.
const maxState = 256 << 20

type stateFile struct {
	Lists store `json:"lists"`
}

// loadState reads the stored lists as a start of the client does (rules R50, R51).
// It writes them back, so that a file that cannot be written is noticed at once.
func loadState(path string) (store, error) {
	data, err := host.ReadFile(path, maxState)
	var state stateFile
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("cannot read the state file: %w", err)
	default:
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, fmt.Errorf("the state file %s is corrupt, mend or remove it: %w", path, err)
		}
	}
	lists := store{}
	for _, l := range state.Lists {
		lists.put(l.ClientID, l.Devices)
	}
	lists.restarted()
	return lists, saveState(path, lists)
}

// saveState replaces the file in one step.
func saveState(path string, lists store) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err == nil {
		defer os.Remove(f.Name()) // unless it was renamed
		_, err = f.Write(mustJSON(stateFile{lists}))
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the state file %s: %w", path, err)
	}
	return nil
}

func (s *Server) save(lists store) {
	if s.opts.StateFile == "" {
		return
	}
	if err := saveState(s.opts.StateFile, lists); err != nil {
		s.log.Error("the lists are kept in memory only", "err", err)
	}
}
