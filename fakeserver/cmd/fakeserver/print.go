package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"sidetone/fakeserver"
)

// A received is a payload with the name of its server; "" if there is only one.
type received struct {
	server string
	fakeserver.Payload
}

// A format formats a payload.
type format func(received) []byte

// printAll prints payloads until the channel is closed or the writer fails.
func printAll(w io.Writer, print format, payloads <-chan received) error {
	for r := range payloads {
		if _, err := w.Write(print(r)); err != nil {
			return cannotPrint(err)
		}
	}
	return nil
}

func prettyText(p received) []byte { return append(textLine(p), indented(p.Raw)...) }

func textLine(p received) []byte {
	var b strings.Builder
	if p.server != "" {
		b.WriteString(p.server + " ")
	}
	fmt.Fprintf(&b, "%s %s ", p.Time.Format("15:04:05.000"), p.Transport)
	if p.Err == nil {
		b.WriteString(fakeserver.Describe(p.Previous, p.Devices))
	} else {
		b.WriteString("REJECTED " + p.Err.Error())
	}
	if p.Fault != fakeserver.FaultNone && p.Err == nil {
		fmt.Fprintf(&b, " (fault %s)", p.Fault)
	}
	if len(p.Warnings) > 0 {
		fmt.Fprintf(&b, " (warning: %s)", strings.Join(p.Warnings, "; "))
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

// indented formats a payload for people; what is not JSON is quoted.
func indented(raw []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "  ", "  ") != nil {
		return fmt.Appendf(nil, "  %q\n", raw)
	}
	return append(append([]byte("  "), ascii(b.Bytes())...), '\n')
}

// ascii escapes what is not ASCII: some of it could act on a terminal.
func ascii(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r < 0x7f {
			out = append(out, byte(r))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// A line is one payload in the output of --json. Fields may be added, never changed.
type line struct {
	Server    string               `json:"server,omitempty"` // with several servers
	Seq       int                  `json:"seq"`
	Time      time.Time            `json:"time"`
	Transport fakeserver.Transport `json:"transport"`
	Conn      int                  `json:"conn"`
	ClientID  string               `json:"client_id"`
	Nonce     string               `json:"nonce"`
	Change    string               `json:"change,omitempty"`   // of an accepted list
	Rejected  string               `json:"rejected,omitempty"` // why it was not accepted
	Code      int                  `json:"code,omitempty"`     // of the rejection
	Warnings  []string             `json:"warnings,omitempty"`
	Fault     fakeserver.FaultKind `json:"fault,omitempty"`
	Payload   any                  `json:"payload"` // a string if it is not JSON
}

func jsonLine(p received) []byte {
	l := line{
		Server: p.server, Seq: p.Seq, Time: p.Time, Transport: p.Transport, Conn: p.Conn, ClientID: p.ClientID,
		Nonce: p.Nonce, Warnings: p.Warnings, Fault: p.Fault, Payload: string(p.Raw),
	}
	if json.Valid(p.Raw) && utf8.Valid(p.Raw) {
		l.Payload = json.RawMessage(p.Raw)
	}
	if p.Err == nil {
		l.Change = fakeserver.Describe(p.Previous, p.Devices)
	} else {
		l.Rejected = p.Err.Error()
	}
	if r := new(fakeserver.Rejection); errors.As(p.Err, &r) {
		l.Code = r.Code
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(l) // numbers, strings and valid JSON: cannot fail
	return ascii(b.Bytes())
}
