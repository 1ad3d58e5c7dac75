package control

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// metrics answers in the text format 0.0.4 of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		s.send(w, http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", exposition(s.backend.Metrics()))
	}
}

// exposition writes metrics in order of their names.
func exposition(metrics map[string]float64) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		full := "sidetone_" + strings.Map(metricRune, name)
		fmt.Fprintf(&out, "# TYPE %s %s\n%s %s\n", full, kind, full, number(metrics[name]))
	}
	return out.Bytes()
}

// metricRune makes a name one that Prometheus takes.
func metricRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return r
	}
	return '_'
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// bundle answers with the zip archive for support.
func (s *Server) bundle(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	var archive bytes.Buffer
	if err := s.backend.Bundle(&archive); err != nil {
		s.refuse(w, problem(http.StatusInternalServerError, CodeInternal, "the archive could not be made: %v", err))
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="sidetone-bundle.zip"`)
	s.send(w, http.StatusOK, "application/zip", archive.Bytes())
}
