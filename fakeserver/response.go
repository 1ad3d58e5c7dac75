package fakeserver

import (
	"net/http"
	"time"
)

type action int

const (
	reply  action = iota // send the body
	ignore               // send nothing, keep the connection
	hangUp               // send nothing, close the connection
	crash                // send nothing, close all connections
)

type response struct {
	do     action
	status int    // of the HTTP answer
	body   []byte // of the answer
	again  []byte // WebSocket and IPC: a second answer; nil: none
	half   bool   // only half of the answer is sent
	close  int    // WebSocket and IPC: close with this code instead of an answer; 0: answer
	reason string // for the code
	delay  time.Duration
	lost   bool // ignored because of the request itself, not a fault
}

// judge says what the client does about a message (rules R41, R42, R44). refusal
// says why the client refuses the request that carried it; nil if it does not.
func judge(m message, refusal *Rejection) response {
	if refusal != nil {
		return refuse(refusal)
	}
	switch {
	case m.err == nil:
		return response{status: http.StatusOK, body: successBody(m.cmd, m.nonce)}
	case m.err.Code == codeBadJSON:
		return refuse(m.err)
	case m.err.Code == codeUnknown:
		return response{status: http.StatusOK, body: errorBody(m.cmd, m.nonce, codeUnknown, unknownError)}
	}
	return response{status: http.StatusOK, body: errorBody(m.cmd, m.nonce, m.err.Code, m.err.Error())}
}

// refuse is how the client refuses a whole request: HTTP 400, a close code, or
// silence.
func refuse(r *Rejection) response {
	if r.Code == 0 {
		return response{do: ignore, lost: true}
	}
	v := response{status: http.StatusBadRequest, close: r.Code, reason: r.Error(), body: mustJSON(errorData{r.Code, r.Error()})}
	if r.Code == codeTooBig {
		v.status = http.StatusRequestEntityTooLarge
	}
	return v
}

// apply changes a response as the fault demands.
func (f Fault) apply(v response, m message) response {
	answer := response{status: http.StatusOK}
	switch f.Kind {
	case FaultHang, FaultNoAnswer:
		return response{do: ignore}
	case FaultCloseAfter:
		return response{do: hangUp}
	case FaultAnswerLate:
		answer = v
		answer.delay = f.Delay
	case FaultWrongNonce:
		answer.body = successBody(m.cmd, "another nonce")
	case FaultBadJSON:
		answer.body = []byte(cutOffAnswer)
	case FaultError:
		answer.body = errorBody(m.cmd, m.nonce, f.Code, f.Message)
	case FaultHTTPError:
		answer.status = http.StatusBadRequest
		answer.body = mustJSON(errorData{f.Code, f.Message})
	case FaultOffline:
		answer.status = http.StatusBadRequest
		answer.body = mustJSON(errorData{codeClientID, offlineMessage})
	case FaultHuge:
		answer.body = hugeBody(m.cmd, m.nonce)
	case FaultDeep:
		answer.body = deepBody(m.cmd, m.nonce)
	case FaultHalf:
		answer = v
		answer.half = true
	case FaultExtraAnswer:
		answer = v
		answer.body, answer.again = successBody(m.cmd, unsentNonce), v.body
	case FaultTwice:
		answer = v
		answer.again = v.body
	}
	return answer
}
