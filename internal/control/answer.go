package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// problem makes the answer to a request that is refused.
func problem(status int, code Code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalid is the answer to a request that is wrong.
func invalid(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, CodeInvalid, format, args...)
}

// problemOf makes the answer to an error of a handler.
func problemOf(err error) *Problem {
	var refusal *Refusal
	var made *Problem
	switch {
	case errors.As(err, &made):
		return made
	case errors.As(err, &refusal):
		for _, k := range kinds {
			if errors.Is(refusal.Kind, k.kind) {
				return &Problem{k.status, k.code, refusal.Message, refusal.Candidates}
			}
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(http.StatusGatewayTimeout, CodeTimeout, "the agent did not act in time: try again, and if it stays so, restart the agent")
	}
	return problem(http.StatusInternalServerError, CodeInternal, "the agent failed: %v", err)
}

// reply answers with what a handler has returned.
func (s *Server) reply(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		p := problemOf(err)
		s.sendJSON(w, p.Status, p)
		return
	}
	switch answer := answer.(type) {
	case nil:
		s.send(w, http.StatusNoContent, "", nil)
	case rawAnswer:
		s.send(w, http.StatusOK, answer.contentType, answer.content)
	case stream:
		answer(w)
	default:
		s.sendJSON(w, http.StatusOK, answer)
	}
}

func (s *Server) sendJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		s.log.Error("an answer of the control API cannot be written as JSON", "err", err)
		const failed = `{"code":"internal","error":"the agent failed: the answer cannot be written as JSON"}` + "\n"
		status, body = http.StatusInternalServerError, []byte(failed)
	}
	s.send(w, status, "application/json", body)
}

// encode writes v as one line of JSON.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return line.Bytes(), err
}

// send answers with body, which the peer has to take in time.
func (s *Server) send(w http.ResponseWriter, status int, contentType string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.write))
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a peer that has gone needs no answer
}
