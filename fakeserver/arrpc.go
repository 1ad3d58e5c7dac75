package fakeserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gorilla/websocket"

	"sidetone/fakeserver/internal/ipcframe"
)

const (
	neverAnswered = "profile arrpc: the command is never answered"
	crashesArRPC  = "profile arrpc: the message ends the program"

	// maxArRPC is the longest IPC message that arRPC accepts, in bytes: it has to
	// arrive in one read together with its header.
	maxArRPC = 64<<10 - ipcframe.HeaderSize
)

var arRPCOrigins = []string{"https://discord.com", "https://ptb.discord.com", "https://canary.discord.com"}

// badArRPCQuery says why arRPC would close a new WebSocket, which it does without
// a code; nil if it would not.
func badArRPCQuery(req *http.Request) *Rejection {
	const noCode = websocket.CloseNoStatusReceived
	query, origin := req.URL.Query(), req.Header.Get("Origin")
	switch {
	case origin != "" && !slices.Contains(arRPCOrigins, origin):
		return reject(noCode, "Origin %s is none of the client's own", show(origin))
	case query.Has("encoding") && query.Get("encoding") != "json":
		return reject(noCode, "encoding is %s, not json", show(query.Get("encoding")))
	case query.Has("v") && query.Get("v") != "1":
		return reject(noCode, "v is %s, not 1", show(query.Get("v")))
	}
	return nil
}

// badArRPCFrame says why arRPC would close an IPC connection because of a frame,
// whatever its opcode; nil if it would not.
func badArRPCFrame(h ipcframe.Header, body []byte) *Rejection {
	switch {
	case h.Size > maxArRPC:
		return reject(codeBadJSON, "message: larger than %d bytes", maxArRPC)
	case !json.Valid(body):
		return reject(codeBadJSON, "message: not JSON")
	}
	return nil
}

// judgeArRPC says what arRPC does about a message, and why the list is not
// accepted. It accesses members of any JSON value, and so crashes on null.
func judgeArRPC(raw []byte) (response, *Rejection) {
	if !json.Valid(raw) || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return response{do: crash}, reject(0, crashesArRPC)
	}
	return response{do: ignore}, reject(0, neverAnswered)
}
