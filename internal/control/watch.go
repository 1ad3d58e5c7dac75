package control

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/texts"
)

// watch writes a line for the present state, unless the peer has it already, and one for each
// change from then on. To a peer that reads slowly it writes the newest state when the peer is
// ready for it; what was between is lost. One that takes nothing for long is cut off.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	since, known, err := sinceOf(r.URL.RawQuery)
	if err != nil {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "%v", err))
		return
	}
	s.stream(w, r)
	status, changed := s.backend.Watch()
	next := Change{Status: status}
	wanted := !known || since != status.Generation
	for {
		if err := s.line(w, next, wanted); err != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		before := next.Status
		status, changed = s.backend.Watch()
		next, wanted = Change{status, strings.Join(Difference(texts.For(texts.English), before, status), "; ")}, true
	}
}

// stream begins an answer of lines.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	connOf(r).streaming.Store(true)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Connection", "close")
}

// line sends the head of the answer and, if wanted, a line. It returns when the kernel has it.
func (s *Server) line(w http.ResponseWriter, c Change, wanted bool) (err error) {
	var line []byte
	if wanted {
		if line, err = encode(Change{withEmptyLists(c.Status), c.What}); err != nil {
			return err
		}
	}
	return s.flush(w, line)
}

// flush sends what is to be sent. It returns when the kernel has it.
func (s *Server) flush(w http.ResponseWriter, lines []byte) error {
	out := http.NewResponseController(w)
	if err := out.SetWriteDeadline(time.Now().Add(s.limits.write)); err != nil {
		return err
	}
	if _, err := w.Write(lines); err != nil {
		return err
	}
	return out.Flush()
}

// sinceOf reads the generation that a watcher has already.
func sinceOf(query string) (since uint64, known bool, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, false, fmt.Errorf("the part of the path behind ? cannot be read: %w", err)
	}
	given := values["since"]
	if len(given) == 0 {
		return 0, false, nil
	}
	if since, err = strconv.ParseUint(given[0], 10, 64); err != nil || len(given) > 1 {
		return 0, false, fmt.Errorf("since: want one generation, a whole number, not %.40q", strings.Join(given, " "))
	}
	return since, true, nil
}

// Difference says in a language what products came and went, and which flags have which value now and
// why; nothing if none. Seen from the zero Status, that is all there is.
func Difference(say texts.Printer, before, after Status) (parts []string) {
	was, is := unitsOf(before), unitsOf(after)
	tell := func(key string, args texts.Args) {
		if part := say.Text("change."+key, args); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	for _, p := range before.Products {
		if _, still := is[unitOf(p)]; !still {
			tell("unplugged", texts.Args{"product": p.Name})
		}
	}
	for _, p := range after.Products {
		old, known := was[unitOf(p)]
		if !known {
			tell("plugged", texts.Args{"product": p.Name})
		}
		for _, d := range p.Devices {
			for _, f := range devices.Fields {
				now := d.Flags[f]
				if valueOf(old, d, f) == now.Value {
					continue
				}
				args := texts.Args{"product": p.Name, "flag": string(f), "value": now.Value.String()}
				if now.Value.Known() {
					args["origin"] = now.Origin.Say(say)
				}
				tell("flag", args)
			}
		}
	}
	return parts
}

type unit struct{ product, unit string }

func unitOf(p Product) unit { return unit{p.ID, p.Unit} }

func unitsOf(s Status) map[unit]Product {
	units := make(map[unit]Product, len(s.Products))
	for _, p := range s.Products {
		units[unitOf(p)] = p
	}
	return units
}

// valueOf is what p said of a flag of d.
func valueOf(p Product, d Device, f devices.Field) devices.Tri {
	for _, old := range p.Devices {
		if old.Type == d.Type && old.ID == d.ID {
			return old.Flags[f].Value
		}
	}
	return devices.Unknown
}
