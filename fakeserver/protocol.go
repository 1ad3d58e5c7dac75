package fakeserver

import "encoding/json"

const (
	command    = "SET_CERTIFIED_DEVICES"
	maxMessage = 3 << 20 // the client takes no larger message, in bytes (rule R47)
)

// Codes of the RPC protocol. The first group appears in evt ERROR answers, the
// second in HTTP 400 answers and as WebSocket close codes; the numbers overlap
// (rules R21, R43, R44).
const (
	codeUnknown = 1000
	codePayload = 4000
	codeCommand = 4002

	codeBadJSON  = 1003
	codeTooBig   = 1009
	codeClientID = 4000
	codeOrigin   = 4001
	codeVersion  = 4004
	codeEncoding = 4005
)

const (
	readyMessage = `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1,"config":` +
		`{"cdn_host":"cdn.discordapp.com","api_endpoint":"//discord.com/api","environment":"production"}}}`
	notFoundBody = `{"code":0,"message":"Not Found"}`
	squatterBody = "<!DOCTYPE html>\n<html><head><title>404</title></head><body><h1>Not Found</h1></body></html>\n"
	cutOffAnswer = `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":nu`
)

type errorData struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type answer struct {
	Cmd   *string    `json:"cmd"`
	Data  *errorData `json:"data"`
	Evt   *string    `json:"evt"`
	Nonce *string    `json:"nonce"`
}

func successBody(cmd, nonce *string) []byte {
	return mustJSON(answer{Cmd: cmd, Nonce: nonce})
}

func errorBody(cmd, nonce *string, code int, message string) []byte {
	evt := "ERROR"
	return mustJSON(answer{Cmd: cmd, Data: &errorData{code, message}, Evt: &evt, Nonce: nonce})
}

// mustJSON encodes a value that holds nothing but strings and numbers, which
// cannot fail.
func mustJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
