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

// watch streams a line for the present state, unless the peer already has it, and one for each change from then on. A peer that reads
// slowly gets the newest state when it is ready for it, and misses those in between. One that takes nothing for long is cut off.
func (s *Server) watch(_ http.ResponseWriter, r *http.Request, _ []byte) (any, error) {
	since, known, err := sinceOf(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("%v", err)
	}
	select {
	case s.watches <- struct{}{}:
	default:
		return nil, problem(http.StatusServiceUnavailable, CodeBusy, "%d watches are open already: end one of them", cap(s.watches))
	}
	return s.stream(r, func(w http.ResponseWriter) {
		defer func() { <-s.watches }()
		status, changed := s.backend.Watch()
		next := Change{Status: status}
		var err error
		if !known || since != status.Generation {
			err = s.sendChange(w, next)
		} else {
			err = s.flush(w, nil)
		}
		for err == nil {
			select {
			case <-changed:
			case <-r.Context().Done():
				return
			}
			before := next.Status
			status, changed = s.backend.Watch()
			next = Change{status, strings.Join(Difference(texts.For(texts.English), before, status), "; ")}
			err = s.sendChange(w, next)
		}
	}), nil
}

func (s *Server) sendChange(w http.ResponseWriter, c Change) error {
	line, err := encode(c)
	if err != nil {
		return err
	}
	return s.flush(w, line)
}

// record streams the lines of a recording until the peer wants no more, the Backend has none, or the server ends. A peer that takes
// nothing for long is cut off.
func (s *Server) record(_ http.ResponseWriter, r *http.Request, _ []byte) (any, error) {
	select {
	case s.recordings <- struct{}{}:
	default:
		return nil, problem(http.StatusServiceUnavailable, CodeBusy, "%d recordings are made already: end one of them", cap(s.recordings))
	}
	return s.stream(r, func(w http.ResponseWriter) {
		defer func() { <-s.recordings }()
		if s.flush(w, nil) == nil {
			// The peer sees by the last line, or that there is none, how this ends.
			_ = s.backend.Record(r.Context(), func(lines []byte) error { return s.flush(w, lines) })
		}
	}), nil
}

// stream makes an answer of lines, which write writes.
func (s *Server) stream(r *http.Request, write func(w http.ResponseWriter)) stream {
	return func(w http.ResponseWriter) {
		connOf(r).streaming.Store(true)
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Connection", "close")
		write(w)
	}
}

// flush sends the head of the answer, if it has not been sent, and then the lines. It returns when the kernel has them.
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

// sinceOf reads the generation that a watcher already has.
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

// Difference says in a language which products were plugged and unplugged, and which flags have which value now and why. Compared with
// the zero Status, everything is new.
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

// valueOf returns the value that a flag of d had in p.
func valueOf(p Product, d Device, f devices.Field) devices.Tri {
	for _, old := range p.Devices {
		if old.Type == d.Type && old.ID == d.ID {
			return old.Flags[f].Value
		}
	}
	return devices.Unknown
}
