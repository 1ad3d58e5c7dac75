package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"sidetone/internal/strictyaml"
)

// maxStates is how many states a file may list. The agent keeps no more pushes.
const maxStates = 256

// StatedPush is a push that comes from a file instead of a request.
type StatedPush struct {
	PushRequest
	Product string
	At      string // file:line:column
}

// ParseStates reads a state file: one push, or a list of them, each with the members of a
// request's body, the product, and a lease, since there is no connection to end it. An error
// names file, line and column, and makes the whole file invalid: a half-written file must not
// pass for a complete one.
func ParseStates(file string, data []byte) ([]StatedPush, error) {
	p := stateParser{file: file, data: bytes.TrimPrefix(data, []byte("\uFEFF"))}
	if err := p.check(); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(p.data))
	list := kindOf(p.data) == "a list"
	if list {
		if _, err := d.Token(); err != nil {
			return nil, p.problem(0, err.Error(), "")
		}
	}
	for path := "$"; d.More(); {
		if list {
			path = fmt.Sprintf("$[%d]", len(p.pushes))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, p.problem(int(d.InputOffset()), err.Error(), "")
		}
		at := int(d.InputOffset()) - len(value)
		if err := p.add(value, path, at); err != nil {
			return nil, p.problem(at, err.Error(), "")
		}
	}
	return p.pushes, nil
}

type stateParser struct {
	file   string
	data   []byte
	pushes []StatedPush
}

// check says where the data is not one value of JSON in UTF-8.
func (p *stateParser) check() error {
	const rename = "write a whole file under another name and rename it into place"
	var value json.RawMessage
	err := json.Unmarshal(p.data, &value)
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(p.data)) == 0:
		return p.problem(0, "the file is empty", "write [] if there is nothing to say, and "+rename)
	case !utf8.Valid(p.data):
		return p.problem(validPrefix(p.data), "not UTF-8 text", "save the file as UTF-8")
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(p.data)):
		return p.problem(len(p.data), "not JSON: "+err.Error(), rename)
	case errors.As(err, &syntax):
		return p.problem(int(syntax.Offset)-1, "not JSON: "+err.Error(), "")
	case err != nil:
		return p.problem(0, "not JSON: "+err.Error(), "")
	}
	return nil
}

// validPrefix returns how many bytes come before the first that is not UTF-8.
func validPrefix(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// add reads the push at path, which begins at byte at.
func (p *stateParser) add(value json.RawMessage, path string, at int) error {
	if len(p.pushes) == maxStates {
		return fmt.Errorf("%s: more than %d states", path, maxStates)
	}
	given, err := members(value, path)
	if err != nil {
		return err
	}
	var product string
	if err := json.Unmarshal(given["product"], &product); err != nil || !printable(product, maxProduct) {
		return fmt.Errorf("%s.product: want the id of a product, 1 to %d printable characters", path, maxProduct)
	}
	request, err := pushOf(given, path)
	if err != nil {
		return err
	}
	if request.TTLms == 0 {
		return fmt.Errorf("%s.ttl_ms: a state in a file needs a lease, from 1 to %d", path, MaxLease.Milliseconds())
	}
	for i, q := range p.pushes {
		if q.Product == product && q.Serial == request.Serial && q.Owner == request.Owner {
			return fmt.Errorf("%s: says again what $[%d] says, of one product, serial and owner: leave one out", path, i)
		}
	}
	p.pushes = append(p.pushes, StatedPush{PushRequest: request, Product: product, At: p.place(at)})
	return nil
}

// place returns file:line:column of a byte; columns are counted in characters.
func (p *stateParser) place(offset int) string {
	line, column := p.position(offset)
	return fmt.Sprintf("%s:%d:%d", p.file, line, column)
}

func (p *stateParser) position(offset int) (line, column int) {
	before := p.data[:min(max(offset, 0), len(p.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

func (p *stateParser) problem(offset int, message, hint string) error {
	line, column := p.position(offset)
	return errors.New(strictyaml.Problem{File: p.file, Line: line, Column: column, Message: message, Hint: hint}.String())
}
