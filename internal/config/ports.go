package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ports is a list of TCP ports, written as ports and ranges: 6463,6470-6473.
type Ports []int

// maxPorts bounds the work of a search for clients.
const maxPorts = 64

// UnmarshalText reads ports and ranges, and keeps their order.
func (p *Ports) UnmarshalText(text []byte) error {
	var out Ports
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, err := portRange(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		for port := first; port <= last; port++ {
			if slices.Contains(out, port) {
				return fmt.Errorf("port %d is listed twice", port)
			}
			out = append(out, port)
			if len(out) > maxPorts {
				return fmt.Errorf("more than %d ports", maxPorts)
			}
		}
	}
	*p = out
	return nil
}

func portRange(s string) (first, last int, err error) {
	from, to, isRange := strings.Cut(s, "-")
	if first, err = port(from); err != nil || !isRange {
		return first, first, err
	}
	if last, err = port(to); err == nil && last < first {
		err = fmt.Errorf("the range %s runs backwards", s)
	}
	return first, last, err
}

var errPort = errors.New("want ports from 1 to 65535, such as 6463-6473 or 6463,6470")

func port(s string) (int, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' { // many readers take a leading 0 for octal
		return 0, errPort
	}
	return int(n), nil
}

// String writes p so that UnmarshalText can read it; three or more consecutive ports become a range.
func (p Ports) String() string {
	var parts []string
	for i := 0; i < len(p); {
		end := i
		for end+1 < len(p) && p[end+1] == p[end]+1 {
			end++
		}
		if end-i < 2 {
			end = i
			parts = append(parts, strconv.Itoa(p[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", p[i], p[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}
