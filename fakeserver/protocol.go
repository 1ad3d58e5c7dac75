package fakeserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	command    = "SET_CERTIFIED_DEVICES"
	maxMessage = 3 << 20 // the largest message that the client accepts over IPC, in bytes (rule R47)
)

// Codes of the RPC protocol. The first group appears in evt ERROR answers, the
// second in HTTP 400 answers and as close codes of WebSocket and IPC; the
// numbers overlap (rules R21, R43, R44, R46).
const (
	codeUnknown = 1000
	codePayload = 4000
	codeCommand = 4002
	codeScope   = 4006

	codeNormal    = 1000
	codeLogin     = 1000
	codeBadJSON   = 1003
	codeCapacity  = 1006
	codeBadText   = 1007
	codeTooBig    = 1009
	codeClientID  = 4000
	codeOrigin    = 4001
	codeRateLimit = 4002
	codeVersion   = 4004
	codeEncoding  = 4005
)

const (
	readyMessage     = readyHead + `}}`
	readyUserMessage = readyHead + `,"user":{"id":"100000000000000001","username":"fake","discriminator":"0",` +
		`"global_name":"Fake User","avatar":null,"bot":false,"flags":0,"premium_type":0}}}`

	readyHead = `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1,"config":` +
		`{"cdn_host":"cdn.discordapp.com","api_endpoint":"//discord.com/api","environment":"production"}`
	notFoundBody   = `{"code":0,"message":"Not Found"}`
	squatterBody   = "<!DOCTYPE html>\n<html><head><title>404</title></head><body><h1>Not Found</h1></body></html>\n"
	optionsBody    = `{"body":""}`
	upgradeRefusal = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nBad Request"
	jsonType       = "application/json"
	offlineMessage = "Invalid Client ID"
	unknownError   = "Unknown Error"
	scopeMessage   = "Not authenticated or invalid scope"
	unsentNonce    = "a nonce that was never sent"

	cutOffAnswer = `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":nu`
)

type errorData struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type answer struct {
	Cmd   any        `json:"cmd"` // as it was sent
	Data  *errorData `json:"data"`
	Evt   *string    `json:"evt"`
	Nonce any        `json:"nonce"` // as it was sent
}

func successBody(cmd any, nonce any) []byte {
	return mustJSON(answer{Cmd: cmd, Nonce: nonce})
}

func errorBody(cmd any, nonce any, code int, message string) []byte {
	evt := "ERROR"
	return mustJSON(answer{Cmd: cmd, Data: &errorData{code, message}, Evt: &evt, Nonce: nonce})
}

// hugeSize is the length of the answer under [FaultHuge], in bytes, unless the
// nonce alone is longer.
const hugeSize = 10 << 20

// hugeBody is an answer that is correct except for its size.
func hugeBody(cmd any, nonce any) []byte {
	body := successBody(cmd, nonce)
	head, tail := append(body[:len(body)-1:len(body)-1], `,"padding":"`...), `"}`
	padding := bytes.Repeat([]byte("0"), max(0, hugeSize-len(head)-len(tail)))
	return slices.Concat(head, padding, []byte(tail))
}

const deepLevels = 100_000

// deepBody is an answer that is correct except for its data, which is nested 100000 deep.
func deepBody(cmd any, nonce any) []byte {
	deep := strings.Repeat("[", deepLevels) + strings.Repeat("]", deepLevels)
	return bytes.Replace(successBody(cmd, nonce), []byte(`"data":null`), []byte(`"data":`+deep), 1)
}

// mustJSON encodes a value that was decoded from JSON, or holds only strings,
// numbers and booleans: that cannot fail.
func mustJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
