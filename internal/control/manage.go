package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// stop answers when clients have been told of the agent's end, which comes right after.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	list := r.URL.Query().Get("list")
	if list != "" && list != "empty" {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "list: want empty, not %.40q", list))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.push)
	defer cancel()
	s.backend.Stop(ctx, list == "empty")
	s.send(w, http.StatusNoContent, "", nil)
}

func (s *Server) logLevel(w http.ResponseWriter, r *http.Request) {
	body, ok := s.readJSON(w, r)
	if !ok {
		return
	}
	var level string
	err := checkJSON(body)
	var given map[string]json.RawMessage
	if err == nil {
		given, err = members(body, "$")
	}
	if err == nil {
		level, err = text(given["level"], "$.level", maxOwner)
	}
	if err == nil {
		err = s.backend.SetLogLevel(level)
	}
	switch {
	case errors.As(err, new(*Refusal)):
		s.refuse(w, problemOf(err))
		return
	case err != nil:
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "%v", err))
		return
	}
	s.send(w, http.StatusNoContent, "", nil)
}
