package conform

import (
	"net/http"
	"strings"
)

// runtimeChecks are about the parser of requests, which is that of the client's runtime (rules R83, R92, R94). They cost nothing.
func runtimeChecks() []check {
	request := func(id, sentence, want string, text func(r *run) string) check {
		return fullCheck(InHTTP, id, sentence, expects(Ran, want), onConnection(0, func(r *run, t *rawHTTP) (outcome, error) {
			t.write([]byte(text(r)))
			return t.refusal(http.MethodGet), nil
		})).after("http-root").costing(0)
	}
	changed := func(old, replacement string) func(*run) string {
		return func(r *run) string { return strings.ReplaceAll(string(getRoot.bytes(r.address)), old, replacement) }
	}
	posted := func(old, replacement string) func(*run) string {
		return func(r *run) string {
			return strings.Replace(string(r.goodPost(r.compose(payload{}).text).bytes(r.address)), old, replacement, 1)
		}
	}
	const firstLine, host = " HTTP/1.1\r\n", "\r\nHost: "
	return []check{
		request("two-hosts", "GET /, two Host headers", fingerprint, changed(firstLine, firstLine+"Host: x\r\n")),
		request("empty-line", "GET / after an empty line", fingerprint, changed("GET", "\r\nGET")),
		request("version-2", "GET /, HTTP/2.0", fingerprint, changed("1.1", "2.0")),
		request("address", "POST http://127.0.0.1/rpc", fingerprint, posted("/rpc", "http://127.0.0.1/rpc")),
		request("escaped-path", "POST /%72pc", fingerprint, posted("/rpc", "/%72pc")),
		request("no-host", "GET /, no Host header", bare, changed(host, "\r\nX: ")),
		request("folded", "GET /, header in two lines", bare, changed(firstLine, firstLine+"X: a\r\n b\r\n")),
		request("bare-lf", "GET /, lines end in LF alone", bare, changed("\r\n", "\n")),
		request("version-1-2", "GET /, HTTP/1.2", bare, changed("1.1", "1.2")),
		request("lower-case", "get /", bare, changed("GET", "get")),
		request("length-and-chunks", "POST, Content-Length and chunked", bare, posted(firstLine, firstLine+"Transfer-Encoding: chunked\r\n")),
		request("upgrade", "POST, Upgrade: h2c", refused, posted("Connection: close", "Connection: Upgrade\r\nUpgrade: h2c")),
		request("long-head", "GET /, header of 17 KiB", "431", changed(firstLine, firstLine+"X: "+strings.Repeat("x", 17<<10)+"\r\n")),
	}
}

// refusal reads an answer after which the connection may end.
func (t *rawHTTP) refusal(method string) outcome {
	p := t.read(method)
	o := p.page()
	if p.status == http.StatusBadRequest && t.closed() {
		o.got, o.detail = refused, ""
		if len(p.body) == 0 {
			o.got = bare
		}
	}
	return o
}
