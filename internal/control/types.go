// Package control is the local API of the agent for the command line, a tray and the vendor's
// own software: HTTP and JSON over a unix socket or a named pipe of one user.
package control

import (
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Status is the answer to GET /v1/status: the whole agent at one moment. Answers may gain fields; they never lose any.
type Status struct {
	Version    string      `json:"version"`
	PID        int         `json:"pid"`
	Instance   string      `json:"instance"` // another one after each start, also where the process stays the same: push again
	Started    time.Time   `json:"started"`
	Vendor     string      `json:"vendor"`     // as the client shows it
	Catalogue  string      `json:"catalogue"`  // path
	Generation uint64      `json:"generation"` // of the list in force; rises with every change
	Changed    time.Time   `json:"changed,omitzero"`
	Sources    []Source    `json:"sources"`
	Products   []Product   `json:"products"` // that are plugged in, in the order in which they are sent
	HID        []HID       `json:"hid"`      // the HID devices that the catalogue has sources for
	Pushes     []Push      `json:"pushes"`   // in force, or waiting for their product
	Clients    Clients     `json:"clients"`
	Conditions []Condition `json:"conditions"`            // everything that is not in order, or may mislead the user
	Pause      *Pause      `json:"pause,omitempty"`       // nil: reporting is not paused
	LogLevel   string      `json:"log_level,omitempty"`   // the lowest that is logged
	NotifyMute bool        `json:"notify_mute,omitempty"` // the tray is to tell the user when a mute button is pressed
	LogFile    string      `json:"log_file,omitempty"`    // absent: the log goes to a journal or a terminal
	Process    *Process    `json:"process,omitempty"`     // nil in a Change
}

// Process is what the agent's process occupies, and what has happened with clients since its start.
type Process struct {
	MemoryBytes uint64                       `json:"memory_bytes,omitempty"` // resident; absent: the system does not tell
	OpenFiles   int                          `json:"open_files,omitempty"`   // descriptors; absent: the system does not tell
	Goroutines  int                          `json:"goroutines"`
	Events      map[string]map[string]uint64 `json:"events"` // how often each event has happened, by transport; absent: never
}

// Condition is one thing that a user may have to know, with its English text.
type Condition struct {
	health.Condition
	Message string `json:"message"`          // one sentence
	Remedy  string `json:"remedy,omitempty"` // what a person can do about it
}

// ConditionOf puts a condition into words; nil: there is none.
func ConditionOf(c *health.Condition) *Condition {
	if c == nil {
		return nil
	}
	return &Condition{*c, health.English.Message(*c), health.English.Remedy(*c)}
}

// ConditionsOf puts conditions into words.
func ConditionsOf(list []health.Condition) []Condition {
	out := make([]Condition, 0, len(list))
	for _, c := range list {
		out = append(out, *ConditionOf(&c))
	}
	return out
}

// Known returns the condition in a form that this program can put into words: one whose code it does not know, of an agent of another
// version, has only the words of that agent, and its severity.
func (c Condition) Known() health.Condition {
	if health.English.Has(c.Code) {
		return c.Condition
	}
	unnamed := health.Unnamed(strings.TrimSuffix(c.Message, "."))
	unnamed.Severity = c.Severity
	return unnamed
}

// KnownOf returns those of several conditions.
func KnownOf(list ...Condition) (out []health.Condition) {
	for _, c := range list {
		out = append(out, c.Known())
	}
	return out
}

// Source is the condition of one source of endpoints.
type Source struct {
	Name      string      `json:"name"`
	Condition string      `json:"condition"` // starting, ok, waiting or failing
	Endpoints int         `json:"endpoints"`
	Reason    *Condition  `json:"reason,omitempty"`  // why it cannot be read
	Remarks   []Condition `json:"remarks,omitempty"` // limits of a source that works
}

// HID is one HID interface of a device, and what the catalogue's sources read off it.
type HID struct {
	Node      string      `json:"node"` // hidraw3
	Name      string      `json:"name,omitempty"`
	VID       string      `json:"vid"`
	PID       string      `json:"pid"`
	Serial    string      `json:"serial,omitempty"`
	Interface int         `json:"interface"`        // number of the USB interface; -1: none
	Reason    *Condition  `json:"reason,omitempty"` // why it cannot be read
	Sources   []HIDSource `json:"sources"`
}

// HIDSource is what one source of the catalogue reads from a HID device.
type HIDSource struct {
	Product string      `json:"product"`
	Rule    string      `json:"rule"` // its place in the product, such as sources[2] or link_state[0]
	Via     string      `json:"via"`  // hid_usage, hid_report, hid_query or hidpp
	Value   devices.Tri `json:"value"`
	Since   time.Time   `json:"since,omitzero"`
	Remark  *Condition  `json:"remark,omitempty"` // what keeps the state from being known
}

// Product is one physical product that is plugged in.
type Product struct {
	ID      string   `json:"id"` // in the catalogue
	Name    string   `json:"name"`
	Unit    string   `json:"unit"` // same value = same physical product
	Devices []Device `json:"devices"`
}

// Device is one entry of the list that clients get.
type Device struct {
	Type  devices.Type                   `json:"type"`
	ID    string                         `json:"id"`
	Flags map[devices.Field]devices.Flag `json:"flags,omitempty"` // audio inputs only: every flag that may be reported, also if it is unknown
}

// Push is what the vendor's software has said, with the rest of its lease.
type Push struct {
	Product string                        `json:"product"`
	Serial  string                        `json:"serial,omitempty"`
	Owner   string                        `json:"owner"`
	State   map[devices.Field]devices.Tri `json:"state"`
	Until   time.Time                     `json:"until,omitzero"` // absent: as long as its connection lives
	Unit    string                        `json:"unit,omitempty"` // the product that it belongs to, as in Products, and with which it ends
	Units   int                           `json:"units"`          // how many units it may mean; 0: it waits for one; several: no effect
}

// Clients is the state of the conversations with clients.
type Clients struct {
	State    string      `json:"state"` // of the best session; searching without any
	Sessions []Session   `json:"sessions"`
	NextTry  time.Time   `json:"next_try,omitzero"`
	Reason   *Condition  `json:"reason,omitempty"`  // why there is no session
	Remarks  []Condition `json:"remarks,omitempty"` // on where a client might be
}

// Session is the conversation with one client.
type Session struct {
	State      string     `json:"state"` // ready, degraded, slow, connecting, unsupported, refused, foreign or waiting
	Transport  string     `json:"transport,omitempty"`
	Socket     string     `json:"socket,omitempty"`
	Port       int        `json:"port,omitempty"`
	PID        int        `json:"pid,omitempty"`
	Name       string     `json:"name,omitempty"`
	Generation uint64     `json:"generation,omitempty"` // last one delivered
	Delivered  time.Time  `json:"delivered,omitzero"`
	Devices    int        `json:"devices"`
	Since      time.Time  `json:"since,omitzero"`    // slow: since when an answer is overdue
	Pending    uint64     `json:"pending,omitempty"` // slow: the generation that was not answered; the client may have it instead
	Muted      []string   `json:"muted,omitempty"`   // slow, refused: ids of the microphones that the client may take for muted
	Missing    []string   `json:"missing,omitempty"` // refused: ids of the microphones that the client is not told of
	NextTry    time.Time  `json:"next_try,omitzero"`
	Reason     *Condition `json:"reason,omitempty"` // what keeps the client from getting its list at once
}

// Devices is the answer to GET /v1/devices: what the system says, and what becomes of it.
type Devices struct {
	Generation uint64             `json:"generation"`
	Endpoints  []Endpoint         `json:"endpoints"`
	Reported   []devices.Report   `json:"reported"` // in the order in which they are sent
	Withheld   []devices.Withheld `json:"withheld"`

	WithoutMicrophone []devices.Hardware `json:"without_microphone,omitempty"` // cards whose microphone their profile leaves out
}

// Endpoint is an endpoint of the system, and how each flag of it came about.
type Endpoint struct {
	devices.Endpoint
	// Considered is for reported audio inputs only. The best origin comes first, the first that is known decides.
	Considered map[devices.Field][]devices.Considered `json:"considered,omitempty"`
}

// PushRequest is the body of PUT /v1/states/{product}. In State null clears a flag, one that is
// absent stays as this owner said before.
type PushRequest struct {
	Owner  string `json:"owner"`            // names the software that pushes, 1 to 64 printable characters
	Seq    uint64 `json:"seq,omitempty"`    // the highest of an owner's counts, whichever comes last; 0: the last
	TTLms  int64  `json:"ttl_ms,omitempty"` // lease, in ms, at most one day; 0: as long as the connection lives
	Serial string `json:"serial,omitempty"` // which unit, where several may be plugged in
	State  Flags  `json:"state"`
}

// PushAnswer is the answer to a push.
type PushAnswer struct {
	Generation   uint64    `json:"generation"`              // of the list that holds it
	Units        int       `json:"units"`                   // how many plugged-in products it may mean; 0: it waits for one, or Left
	Left         bool      `json:"left,omitempty"`          // the one that it means has just left, or is switched off: it is not kept
	Clients      int       `json:"clients"`                 // how many clients had accepted that list when the answer was written
	Until        time.Time `json:"until,omitzero"`          // when its lease ends; absent: with the connection, or nothing is left of it
	OtherSerials []string  `json:"other_serials,omitempty"` // if it waits for its serial: those of such products that are plugged in
}

// Change is one line of GET /v1/watch. The first line holds the whole status; so does each
// that follows, with what has changed in words.
type Change struct {
	Status
	What string `json:"what,omitempty"` // "" where only the status differs
}

// LogLevel is the body of POST /v1/log-level.
type LogLevel struct {
	Level string `json:"level"` // debug, info, warn or error
}

// MaxPause is the longest pause that ends by itself.
const MaxPause = 30 * 24 * time.Hour

// PauseRequest is the body of POST /v1/pause. Without ForMS the pause lasts until somebody ends it.
type PauseRequest struct {
	ForMS int64 `json:"for_ms,omitempty"` // how long, in ms, at most MaxPause
}

// Pause is a pause that is in force.
type Pause struct {
	Until time.Time         `json:"until,omitzero"` // absent: until somebody ends it
	List  devices.PauseList `json:"list"`           // what clients get meanwhile
}

// Problem is the body of every refusal. As an error of a Client it also is (errors.Is) the kind of
// Refusal that its Code stands for.
type Problem struct {
	Status     int      `json:"-"`                    // of the HTTP answer
	Code       Code     `json:"code"`                 // for programs
	Message    string   `json:"error"`                // a sentence: what was wrong, and what to do
	Candidates []string `json:"candidates,omitempty"` // of an ambiguous or unknown name: what could be meant
}

func (p *Problem) Error() string { return p.Message }

// Unwrap returns the kind of Refusal; nil if there is none.
func (p *Problem) Unwrap() error {
	for _, k := range kinds {
		if k.code == p.Code {
			return k.kind
		}
	}
	return nil
}

// Code says in one word why a request was refused.
type Code string

// The codes of a Problem.
const (
	CodeUnknown   Code = "unknown_product" // 404: the catalogue has no such product
	CodeAmbiguous Code = "ambiguous"       // 409: several could be meant
	CodeStale     Code = "stale"           // 409: overtaken by a later push of the same owner
	CodeConflict  Code = "conflict"        // 409: not now, or policy decides otherwise
	CodeInvalid   Code = "invalid"         // 400: the request is wrong; 422: a settings file is
	CodeForbidden Code = "forbidden"       // 403: it came from a browser or through a relay
	CodePath      Code = "no_such_path"    // 404
	CodeMethod    Code = "no_such_method"  // 405
	CodeTooLarge  Code = "too_large"       // 413
	CodeMediaType Code = "media_type"      // 415: the body is not declared as JSON
	CodeBusy      Code = "busy"            // 503: too many connections
	CodeStopping  Code = "stopping"        // 503: the agent ends
	CodeTimeout   Code = "timeout"         // 504: the agent did not act in time
	CodeInternal  Code = "internal"        // 500
)

// ProductsOf groups what is reported by physical product, in its order.
func ProductsOf(reported []devices.Report) []Product {
	all := []Product{}
	for _, r := range reported {
		i := slices.IndexFunc(all, func(p Product) bool { return p.Unit == r.Unit })
		if i < 0 {
			i = len(all)
			all = append(all, Product{ID: r.Product, Name: r.Model.Name, Unit: r.Unit})
		}
		all[i].Devices = append(all[i].Devices, Device{Type: r.Type, ID: r.ID, Flags: r.Flags})
	}
	return all
}
