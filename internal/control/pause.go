package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// pause answers POST /v1/pause.
func (s *Server) pause(w http.ResponseWriter, r *http.Request) {
	body, ok := s.readJSON(w, r)
	if !ok {
		return
	}
	request, err := parsePause(body)
	if err != nil {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "%v", err))
		return
	}
	s.sendJSON(w, http.StatusOK, s.backend.Pause(request))
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		s.backend.Resume()
		s.send(w, http.StatusNoContent, "", nil)
	}
}

// parsePause reads the body of a pause, as parsePush does that of a push: a slip in a name would make a pause without an end.
func parsePause(body []byte) (p PauseRequest, err error) {
	if err = checkJSON(body); err != nil {
		return p, err
	}
	given, err := members(body, "$")
	if err != nil {
		return p, err
	}
	for name, read := range map[string]func(json.RawMessage, string) error{
		"for_ms": func(v json.RawMessage, at string) error {
			ms, err := whole(v, at, uint64(MaxPause.Milliseconds()))
			if err == nil && ms == 0 {
				err = fmt.Errorf("%s: want at least 1; leave it out for a pause that somebody ends", at)
			}
			p.ForMS = int64(ms)
			return err
		},
		"until_login": func(v json.RawMessage, at string) error {
			kind := kindOf(v)
			if p.UntilLogin = kind == "true"; !p.UntilLogin && kind != "false" {
				return fmt.Errorf("%s: want true or false, not %s", at, kind)
			}
			return nil
		},
	} {
		if value, there := given[name]; there {
			err = read(value, "$."+name)
		} else if slip := slipOf(slices.Sorted(maps.Keys(given)), name); slip != "" {
			err = fmt.Errorf("$.%.40s: did you mean %q? It would be lost", slip, name)
		}
		if err != nil {
			return PauseRequest{}, err
		}
	}
	if p.ForMS > 0 && p.UntilLogin {
		return PauseRequest{}, errors.New("$: want one of for_ms and until_login")
	}
	return p, nil
}
