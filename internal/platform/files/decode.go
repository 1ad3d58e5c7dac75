package files

import (
	"fmt"
	"regexp"

	"sidetone/internal/devices"
	"sidetone/internal/stable"
	"sidetone/internal/strictyaml"
)

// endpointFile is the content of an endpoint file.
type endpointFile struct {
	Endpoints []devices.Endpoint `yaml:"endpoints"`
}

var usbID = regexp.MustCompile(`^([0-9a-f]{4})?$`)

// decodeEndpoints decodes an endpoint file. Fields that only the agent can know are dropped, so that the agent's own output can serve as
// a file.
func decodeEndpoints(file string, data []byte) ([]devices.Endpoint, []strictyaml.Problem) {
	var content endpointFile
	doc, problems := strictyaml.Decode(file, data, &content)
	if len(problems) > 0 {
		return nil, problems
	}
	first := map[devices.Key]int{}
	for i := range content.Endpoints {
		e := &content.Endpoints[i]
		e.Source, e.Stale, e.Changed = "", false, nil
		at := fmt.Sprintf("$.endpoints[%d]", i)
		for key, id := range map[string]string{"vid": e.VID, "pid": e.PID} {
			if !usbID.MatchString(id) {
				problems = append(problems, doc.Problem(at+"."+key, "not a USB id", "4 lower-case hex digits in quotes"))
			}
		}
		if e.ID == "" {
			problems = append(problems, doc.Problem(at+".id", "the id is empty", ""))
		}
		if f, twice := first[e.Key()]; twice {
			line, _ := doc.Position(fmt.Sprintf("$.endpoints[%d]", f))
			problems = append(problems, doc.Problem(at+".id", "this type and id are there already", fmt.Sprintf("see line %d", line)))
		} else {
			first[e.Key()] = i
		}
	}
	stable.Sort(problems, strictyaml.Compare)
	return content.Endpoints, problems
}
