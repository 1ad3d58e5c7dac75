package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"
)

// What a server may do, in the words of the report. Others are made of numbers
// it sent: "close 4001", "ERROR 4000", "200 ERROR 4000", "400 code 4000", "404".
const (
	success      = "success" // cmd and nonce echoed, data and evt null (rule R41)
	httpSuccess  = "200 success"
	fingerprint  = "404 fingerprint" // the client's own 404 (rule R8)
	ready        = "READY"
	readyUser    = "READY with user"
	openSilent   = "open, no READY"
	silence      = "no reply"
	hungUp       = "connection closed" // without a code
	unfinished   = "unfinished answer"
	tooLarge     = "answer too large"
	garbage      = "garbage"
	pong         = "PONG"
	pongSame     = "PONG, same data"
	queued       = "queued"
	allAtOnce    = "all at once"
	lost         = "lost"
	taken        = "taken"
	echoed       = "404 fingerprint, CORS"
	options      = "200 empty body"
	bothAnswered = "both answered"
	bare         = "bare 400, closed"
	refused      = "400, closed"
	overlooked   = "no reply, next one answered"
	idle         = "closed after 5 to 6 s"
	stillOpen    = "still open"
	damaged      = "character damaged"
	undamaged    = "character whole"
	tokenSpent   = "token burnt"
	tokenKept    = "token kept"
	withHead     = "token taken with the head"
	withBody     = "token taken with the body"
	inOrder      = "answered in order"
	outOfOrder   = "answered out of order"
	noLimit      = "there is no rate limit"
)

// An outcome is what a server did in one check.
type outcome struct {
	got    string        // one of the above; "" if the check was not tried
	detail string        // what else the server sent, sanitized
	waited time.Duration // for the answer, or until giving up
	skip   string        // why the check was not tried
	via    Transport     // the transport of a payload
}

func skipped(why string) outcome { return outcome{skip: why} }

func (o outcome) answered() bool {
	return !slices.Contains([]string{"", silence, openSilent, unfinished}, o.got)
}

// An answer is a message of the server.
type answer map[string]json.RawMessage

func readAnswer(data []byte) (a answer, ok bool) {
	return a, json.Unmarshal(data, &a) == nil && a != nil
}

func (a answer) text(key string) string {
	var s string
	_ = json.Unmarshal(a[key], &s)
	return s
}

func (a answer) object(key string) (o answer) {
	_ = json.Unmarshal(a[key], &o)
	return o
}

func (a answer) null(key string) bool { return string(a[key]) == "null" }

// event reports whether the message is not the answer to a command.
func (a answer) event() bool { return a.text("cmd") == "DISPATCH" }

// repeats reports whether the answer has a value, which is JSON.
func (a answer) repeats(key, want string) bool {
	var got, wanted any
	return json.Unmarshal(a[key], &got) == nil && json.Unmarshal([]byte(want), &wanted) == nil && reflect.DeepEqual(got, wanted)
}

// judge returns the outcome of a command by what its answer has to repeat, in JSON; "" for any (rules R41, R42, R91).
func (a answer) judge(cmd, nonce string) outcome {
	echoed := nonce == "" || a.repeats("nonce", nonce)
	if a.text("evt") == "ERROR" {
		e := a.object("data")
		o := outcome{got: "ERROR without a code", detail: sanitize(e.text("message"))}
		var code int
		if e["code"] != nil && json.Unmarshal(e["code"], &code) == nil {
			o.got = fmt.Sprintf("ERROR %d", code)
		}
		switch {
		case !echoed:
			o.got += ", wrong nonce"
		case cmd != "" && !a.repeats("cmd", cmd):
			o.got += ", wrong cmd"
		}
		return o
	}
	switch {
	case !echoed:
		return outcome{got: "answer, nonce not echoed"}
	case !a.repeats("cmd", cmd):
		return outcome{got: "answer, cmd not echoed"}
	case !a.null("data"):
		return outcome{got: "answer, data not null"}
	case !a.null("evt"):
		return outcome{got: "answer, evt not null"}
	}
	return outcome{got: success}
}

// failure is the outcome of a failed read. some is true if part of an answer had come.
func failure(err error, some bool) outcome {
	_, failed := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, errTooLarge):
		return outcome{got: tooLarge}
	case isTimeout(err) && some:
		return outcome{got: unfinished}
	case isTimeout(err):
		return outcome{got: silence}
	case some && errors.Is(err, io.ErrUnexpectedEOF):
		return outcome{got: unfinished, detail: "then the connection was closed"}
	case failed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe):
		return outcome{got: hungUp}
	}
	return outcome{got: garbage, detail: sanitize(err.Error())}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

const shown = 60 // bytes of a text of the server

// sanitize shortens a text of the server, and quotes what could disturb a terminal or a table.
func sanitize(s string) string {
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + ".."
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '|' || r == '`' || r == '<' }) {
		return strings.NewReplacer("|", `\x7c`, "`", `\x60`, "<", `\x3c`).Replace(fmt.Sprintf("%+q", s))
	}
	return s
}

var errTooLarge = errors.New("more bytes than an answer may have")

// A capped connection fails with errTooLarge if the server sends too much.
type capped struct {
	net.Conn
	left int   // bytes that may still be read
	read int   // bytes read
	err  error // the original error that ended reading; nil at EOF
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.err = errTooLarge
		return 0, c.err
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.read += n
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// compact is JSON or other text of the server in one line.
func compact(data []byte) string {
	var b bytes.Buffer
	if len(data) <= 1<<10 && json.Compact(&b, data) == nil {
		data = b.Bytes()
	}
	return sanitize(string(data[:min(len(data), 2*shown)]))
}
