package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Difference is a list that differs between a recording and its replay.
type Difference struct {
	Recorded *Record `json:"recorded,omitempty"` // absent: the recording has no such list
	Replayed *Record `json:"replayed,omitempty"` // absent: the replay has none

	Fields []FieldDifference `json:"fields,omitempty"` // what differs, if both have one
}

func (d Difference) String() string {
	switch {
	case d.Recorded == nil:
		return fmt.Sprintf("at %v a list that is not in the recording:\n  replayed %s", time.Duration(d.Replayed.T), jsonText(*d.Replayed))
	case d.Replayed == nil:
		return fmt.Sprintf("at %v a list that does not come:\n  recorded %s", time.Duration(d.Recorded.T), jsonText(*d.Recorded))
	default:
		lines := []string{fmt.Sprintf("at %v another list:", time.Duration(d.Recorded.T))}
		for _, f := range d.Fields {
			lines = append(lines, f.String())
		}
		return strings.Join(lines, "\n  ")
	}
}

func jsonText(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Pair is a list of a recording and the one of its replay that corresponds, by their indices in Recorded and Lists; -1: there is none.
type Pair struct{ Recorded, List int }

// Pairs pairs the lists of the recording with those of the replay, in order: as many equal ones as possible, and the rest one by one.
func (r Replayed) Pairs() []Pair { return align(r.keys(r.Recorded), r.keys(r.Lists)) }

// Same reports whether the lists of a pair are the same: byte for byte if the replay is exact, otherwise regardless of their times.
func (r Replayed) Same(p Pair) bool {
	return p.Recorded >= 0 && p.List >= 0 && r.key(r.Recorded[p.Recorded]) == r.key(r.Lists[p.List])
}

// Differences returns the lists of the recording that did not come again, and those that came instead.
func (r Replayed) Differences() []Difference {
	var out []Difference
	for _, p := range r.Pairs() {
		var d Difference
		if p.Recorded >= 0 {
			d.Recorded = &r.Recorded[p.Recorded]
		}
		if p.List >= 0 {
			d.Replayed = &r.Lists[p.List]
		}
		// A recording that was cut off may lack what the last input led to.
		cut := r.Cut != "" && d.Recorded == nil && d.Replayed.T >= r.lastInput
		if r.Same(p) || cut {
			continue
		}
		if d.Recorded != nil && d.Replayed != nil {
			d.Fields = fieldsThatDiffer(*d.Recorded, *d.Replayed, r.Exact)
		}
		out = append(out, d)
	}
	return out
}

func (r Replayed) keys(list []Record) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = r.key(list[i])
	}
	return out
}

// key returns what is compared of a list.
func (r Replayed) key(rec Record) string {
	if !r.Exact {
		rec.T, rec.List = 0, &List{Devices: rec.List.Devices}
	}
	return jsonText(rec)
}

// align pairs the elements of a and b in their order: as many equal ones as possible, and the rest one by one.
func align(a, b []string) (pairs []Pair) {
	i, j := 0, 0
	for _, p := range append(common(a, b), Pair{len(a), len(b)}) {
		for i < p.Recorded || j < p.List {
			next := Pair{-1, -1}
			if i < p.Recorded {
				next.Recorded, i = i, i+1
			}
			if j < p.List {
				next.List, j = j, j+1
			}
			pairs = append(pairs, next)
		}
		if i < len(a) && j < len(b) {
			pairs = append(pairs, p)
			i, j = i+1, j+1
		}
	}
	return pairs
}

// maxTable bounds the memory of common, in pairs. Where it is exceeded only the common beginning and end are found.
const maxTable = 4 << 20

// common returns a longest common subsequence of a and b.
func common(a, b []string) (pairs []Pair) {
	begin, end := 0, 0
	for ; begin < min(len(a), len(b)) && a[begin] == b[begin]; begin++ {
		pairs = append(pairs, Pair{begin, begin})
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if a, b := a[begin:len(a)-end], b[begin:len(b)-end]; len(a)*len(b) <= maxTable {
		longest := make([][]int32, len(a)+1) // of a[i:] and b[j:]
		for i := range longest {
			longest[i] = make([]int32, len(b)+1)
		}
		for i := range slices.Backward(a) {
			for j := range slices.Backward(b) {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch {
			case a[i] == b[j]:
				pairs = append(pairs, Pair{begin + i, begin + j})
				i, j = i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				i++
			default:
				j++
			}
		}
	}
	for ; end > 0; end-- {
		pairs = append(pairs, Pair{len(a) - end, len(b) - end})
	}
	return pairs
}
