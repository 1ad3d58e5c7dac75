package nodehttp

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// keepsAlive reports whether more requests may follow on the connection.
func (h *head) keepsAlive() bool {
	if h.version == "1.1" {
		return !slices.Contains(h.options, "close")
	}
	return slices.Contains(h.options, "keep-alive")
}

// write appends the head as net/http reads it without complaint. Its host is only missing if that of the request is, which the
// server has to refuse.
func (h *head) write(out []byte, upgrades bool) []byte {
	line := func(parts ...string) {
		for _, part := range parts {
			out = append(out, part...)
		}
		out = append(out, "\r\n"...)
	}
	line(h.method, " ", canonicalTarget(string(h.target)), " HTTP/1.1")
	if h.hasHost || h.version != "1.1" || upgrades {
		line("Host: x")
	} else {
		line("Host:")
	}
	for _, f := range h.fields {
		name := strings.ToLower(string(f.name))
		if name != "trailer" && (name != "upgrade" || upgrades) {
			line(string(f.name), ": ", string(f.value))
		}
	}
	switch {
	case upgrades:
		line("Connection: Upgrade")
	case !h.keepsAlive():
		line("Connection: close")
	}
	switch {
	case upgrades: // has no body, whatever it says
	case h.chunked:
		line("Transfer-Encoding: chunked")
	case h.hasLength:
		line("Content-Length: ", strconv.FormatUint(min(h.length, math.MaxInt64), 10))
	}
	line()
	return out
}

// canonicalTarget escapes a path that net/http cannot read. It stays another path than any that can.
func canonicalTarget(target string) string {
	if _, err := url.ParseRequestURI(target); err == nil && target[0] == '/' || strings.HasPrefix(target, "http://") && err == nil {
		return target
	}
	path, query, asked := strings.Cut(target, "?")
	path = "/" + url.PathEscape(path)
	if asked {
		return path + "?" + query
	}
	return path
}
