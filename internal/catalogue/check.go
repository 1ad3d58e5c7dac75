package catalogue

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sidetone/internal/brand"
	"sidetone/internal/devices"
)

// Fault is one error in a catalogue that is well-formed.
type Fault struct {
	Path    string // such as $.products[0].links[1].vid
	Message string
	Hint    string // how to fix it; may be empty
}

// Check returns every fault of c, in a fixed order. A catalogue without faults compiles on every
// system, and each of its rules can take effect. For an unknown schema version that is the only fault.
func (c *Catalogue) Check() []Fault { return c.check(false) }

// CheckRecorded is Check for a catalogue from a recording. It accepts rules without effect, which the agent that made the
// recording may have accepted.
func (c *Catalogue) CheckRecorded() []Fault { return c.check(true) }

func (c *Catalogue) check(recorded bool) []Fault {
	f := faults{recorded: recorded}
	if c.Schema != SchemaVersion {
		f.add("$.schema", fmt.Sprintf("this program reads schema %d", SchemaVersion), "unknown schema version %d", c.Schema)
		return f.list
	}
	f.vendor(c.Vendor)
	if len(c.Products) == 0 {
		f.add("$.products", "", "no products: nothing would ever be reported")
	}
	first := make(map[string]int)
	for i, p := range c.Products {
		path := fmt.Sprintf("$.products[%d]", i)
		if j, taken := first[p.ID]; taken {
			f.add(path+".id", fmt.Sprintf("products[%d] has it too", j), "duplicate product id")
		} else {
			first[p.ID] = i
		}
		f.product(path, p)
	}
	f.overlaps(c.Products)
	return f.list
}

// warnings returns what is worth a second look in a catalogue without faults: it may be right for the device, but often
// is not.
func (c *Catalogue) warnings() []Fault {
	f := faults{}
	for i, p := range c.Products {
		f.product(fmt.Sprintf("$.products[%d]", i), p)
	}
	return f.warnings
}

// faults collects what a check finds.
type faults struct {
	list     []Fault
	warnings []Fault
	recorded bool // a rule without effect is not a fault
}

func (f *faults) warn(path, hint, message string) {
	f.warnings = append(f.warnings, Fault{path, message, hint})
}

func (f *faults) add(path, hint, format string, args ...any) {
	f.list = append(f.list, Fault{path, fmt.Sprintf(format, args...), hint})
}

// addUnlessRecorded adds a fault that is harmless in a recording, such as a rule without effect.
func (f *faults) addUnlessRecorded(path, hint, format string, args ...any) {
	if !f.recorded {
		f.add(path, hint, format, args...)
	}
}

var (
	idShape  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	hexShape = regexp.MustCompile(`^[0-9a-fA-F]{4}$`)
)

func (f *faults) vendor(v Vendor) {
	f.id("$.vendor.id", v.ID)
	if err := brand.CheckVendorID(v.ID); err != nil && idShape.MatchString(v.ID) {
		f.addUnlessRecorded("$.vendor.id", "such as acme", "%v", err)
	}
	f.name("$.vendor.name", v.Name)
	f.url("$.vendor.url", v.URL)
	if !brand.ValidClientID(v.ClientID) {
		f.add("$.vendor.client_id", "a snowflake such as \"123456789012345678\"", "client_id is not 17 to 20 digits")
	}
	if v.RPCOrigin != "" && !brand.ValidOrigin(v.RPCOrigin) {
		f.add("$.vendor.rpc_origin", "such as https://acme.example, without a path", "not an origin")
	}
}

func (f *faults) product(path string, p Product) {
	f.id(path+".id", p.ID)
	f.name(path+".name", p.Name)
	f.url(path+".url", p.URL)
	if p.Priority < 1 {
		f.add(path+".priority", "1 comes first", "priority is less than 1")
	}
	if len(p.Links) == 0 {
		f.add(path+".links", "", "no links: nothing can match this product")
	}
	for i, l := range p.Links {
		f.link(fmt.Sprintf("%s.links[%d]", path, i), l)
	}
	f.endpoints(path+".endpoints", p.Endpoints)
	f.virtual(path+".virtual_endpoints", p.VirtualEndpoints)
	f.idSchemes(path+".id_scheme", p.IDScheme)
	f.sources(path, p)
	f.traces(path+".traces", p.Traces)
}

// Limits in characters, beyond what a client could show or anybody would write.
const (
	maxID   = 100
	maxName = 200
)

func (f *faults) id(path, id string) {
	if !idShape.MatchString(id) {
		f.add(path, "use lower-case letters, digits and dashes", "not a valid id")
	} else if len(id) > maxID {
		f.addUnlessRecorded(path, fmt.Sprintf("at most %d characters", maxID), "an id of %d characters", len(id))
	}
}

func (f *faults) name(path, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add(path, "the client refuses a list with an empty name", "empty name")
	case strings.ContainsFunc(name, unicode.IsControl):
		f.add(path, "", "control character in a name")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Cf, r) }):
		f.addUnlessRecorded(path, "such as a zero-width space, or a mark that turns the direction of text",
			"a character in a name that nobody can see")
	case utf8.RuneCountInString(name) > maxName:
		f.addUnlessRecorded(path, fmt.Sprintf("at most %d characters", maxName), "a name of %d characters", utf8.RuneCountInString(name))
	}
}

func (f *faults) url(path, s string) {
	if s == "" {
		f.add(path, "the client refuses a list with an empty url", "empty url")
		return
	}
	if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		f.add(path, "such as https://acme.example", "not an http or https address")
	}
}

func (f *faults) link(path string, l Link) {
	distinct(f, path+".os", l.OS, "systems")
	f.regex(path+".name_regex", l.NameRegex)
	switch l.Kind {
	case LinkUSB, LinkDongle:
		f.hardware(path, l)
	case LinkBluetooth:
		if l.VID != "" || l.PIDs != nil || l.NameRegex == "" {
			f.hardware(path, l)
		}
	default:
		if l.VID != "" {
			f.add(path+".vid", "remove it", "a link of kind %s has no vid", l.Kind)
		}
		if l.PIDs != nil {
			f.add(path+".pids", "remove it", "a link of kind %s has no pids", l.Kind)
		}
		if l.NameRegex == "" {
			f.add(path+".name_regex", "", "a link of kind %s needs name_regex", l.Kind)
		}
	}
}

func (f *faults) hardware(path string, l Link) {
	hint := ""
	if l.Kind == LinkBluetooth {
		hint = "or name_regex alone"
	}
	switch {
	case l.VID == "":
		f.add(path+".vid", hint, "a link of kind %s needs vid", l.Kind)
	case !hexShape.MatchString(l.VID):
		f.add(path+".vid", "four hex digits such as \"1209\"", "not a vendor id")
	}
	if len(l.PIDs) == 0 {
		f.add(path+".pids", hint, "a link of kind %s needs pids", l.Kind)
	}
	for i, pid := range l.PIDs {
		if !hexShape.MatchString(pid) {
			f.add(fmt.Sprintf("%s.pids[%d]", path, i), "four hex digits such as \"0700\"", "not a product id")
		}
	}
}

// regex checks an expression. Empty means none.
func (f *faults) regex(path, expr string) {
	if expr == "" {
		return
	}
	switch re, err := regexp.Compile(expr); {
	case err != nil:
		f.add(path, "see the syntax of RE2", "bad expression, %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case re.MatchString(""):
		f.add(path, "it would fit every name", "the expression matches empty text")
	}
}

// needRegex is regex for a key that must not be empty.
func (f *faults) needRegex(path, expr string) {
	if expr == "" {
		f.add(path, "it would fit every name", "empty expression")
	}
	f.regex(path, expr)
}

// distinct checks that a list has no duplicates, and is left out rather than empty.
func distinct[S ~string | ~int](f *faults, path string, list []S, what string) {
	if list != nil && len(list) == 0 {
		f.add(path, "leave it out for all "+what, "empty list of %s", what)
	}
	listed := make(map[S]bool, len(list))
	for i, s := range list {
		if listed[s] {
			f.add(fmt.Sprintf("%s[%d]", path, i), "", "%v is listed twice", s)
		}
		listed[s] = true
	}
}

func (f *faults) idSchemes(path string, s *IDSchemes) {
	for _, os := range []devices.OS{devices.Windows, devices.Darwin, devices.Linux} {
		switch scheme := s.For(os); {
		case scheme == devices.IDGUID && os != devices.Windows:
			f.add(path+"."+string(os), "guid is for windows", "ids have no guid on %s", os)
		case scheme == devices.IDBusInfo && os != devices.Linux:
			f.add(path+"."+string(os), "bus_info is for linux", "there is no bus_info on %s", os)
		}
	}
}

// systems returns the systems that a list means.
func systems(list []devices.OS) []devices.OS {
	if len(list) == 0 {
		return []devices.OS{devices.Windows, devices.Darwin, devices.Linux}
	}
	return list
}

// remaining returns the systems of list that are not in rule.
func remaining(list, rule []devices.OS) []devices.OS {
	var rest []devices.OS
	for _, os := range list {
		if !slices.Contains(systems(rule), os) {
			rest = append(rest, os)
		}
	}
	return rest
}
