package page

import (
	"bytes"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sidetone/fakeserver"
)

//go:embed web
var web embed.FS

var index = template.Must(template.ParseFS(web, "web/index.html"))

const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	tokenHeader = "X-Page-Token"
	maxCommand  = 4 << 10   // bytes of a POST
	maxRaw      = 256 << 10 // bytes of a payload that are shown
)

func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { send(w, "text/html; charset=utf-8", p.index) })
	mux.HandleFunc("GET /page.js", file("web/page.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /page.css", file("web/page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /events", p.serveEvents)
	mux.HandleFunc("GET /raw", p.serveRaw)
	mux.HandleFunc("POST /do", p.serveDo)
	return mux
}

// guard refuses what the page itself did not send: a request to another host (DNS rebinding),
// and a POST from another page (cross-site request forgery).
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if req.Host != p.host {
			http.Error(w, "this page is at "+p.URL(), http.StatusForbidden)
			return
		}
		if req.Method == http.MethodPost && !p.fromPage(req) {
			http.Error(w, "not from the page itself, load it again", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func (p *Page) fromPage(req *http.Request) bool {
	origins, named := req.Header["Origin"]
	if named && (len(origins) != 1 || origins[0] != "http://"+p.host) {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(req.Header.Get(tokenHeader)), []byte(p.token)) == 1
}

func file(name, kind string) http.HandlerFunc {
	data, _ := web.ReadFile(name) // embedded, so it is there
	return func(w http.ResponseWriter, _ *http.Request) { send(w, kind, data) }
}

func send(w http.ResponseWriter, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // the browser may be gone
}

// A command is what a button of the page asks for.
type command struct {
	Client int    `json:"client"` // which one, counted from 0
	Do     string `json:"do"`     // what execute knows
	Fault  string `json:"fault"`  // as ParseFault reads it
}

func (p *Page) serveDo(w http.ResponseWriter, req *http.Request) {
	if kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	}
	var o command
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxCommand)).Decode(&o); err != nil {
		http.Error(w, "cannot read the order: "+err.Error(), http.StatusBadRequest)
		return
	}
	if o.Client < 0 || o.Client >= len(p.screens) {
		http.Error(w, fmt.Sprintf("no client %d", o.Client), http.StatusNotFound)
		return
	}
	if err := o.execute(p.screens[o.Client].srv); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (o command) execute(srv *fakeserver.Server) error {
	switch o.Do {
	case "fault":
		f, err := fakeserver.ParseFault(o.Fault)
		if err != nil {
			return err
		}
		return srv.SetFault(f)
	case "restart":
		return srv.Restart()
	case "resume":
		return srv.Resume()
	case "stop":
		srv.Stop()
	case "drop":
		srv.DropConnections()
	case "freeze":
		srv.Freeze()
	case "thaw":
		srv.Thaw()
	default:
		return fmt.Errorf("unknown order %q, want fault, restart, stop, resume, drop, freeze or thaw", o.Do)
	}
	return nil
}

// serveRaw sends one payload in readable form.
func (p *Page) serveRaw(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	client, err1 := strconv.Atoi(query.Get("client"))
	seq, err2 := strconv.Atoi(query.Get("seq"))
	if err1 != nil || err2 != nil || client < 0 || client >= len(p.screens) {
		http.Error(w, "no such client or payload", http.StatusNotFound)
		return
	}
	payload, _ := p.screens[client].srv.NextPayload(seq - 1)
	if payload.Seq != seq || seq == 0 {
		http.Error(w, "this payload is no longer kept", http.StatusNotFound)
		return
	}
	send(w, "text/plain; charset=utf-8", readable(payload.Raw))
}

// readable indents a payload and escapes invisible characters; what is not JSON is quoted.
func readable(raw []byte) []byte {
	var b bytes.Buffer
	if !utf8.Valid(raw) || json.Indent(&b, raw, "", "  ") != nil {
		return fmt.Appendf(nil, "not JSON: %q", raw[:min(len(raw), maxRaw)])
	}
	out := make([]byte, 0, min(b.Len(), maxRaw))
	for _, r := range b.String() {
		if len(out) >= maxRaw {
			return fmt.Appendf(out, "\n… the first %d of %d bytes", maxRaw, b.Len())
		}
		if r == '\n' || unicode.IsGraphic(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
