package config

import (
	"cmp"
	"strings"

	"sidetone/internal/strictyaml"
)

const insteadOfStateFile = "push.state_file is gone: push over the local API, as examples/push/follow.py does for a file"

// gone is what replaces the settings of earlier versions, by the names of their flags and of the groups that went with them.
var gone = map[string]string{"push": insteadOfStateFile, "push-state-file": insteadOfStateFile, "state-file": insteadOfStateFile}

// Gone says what replaces a setting of earlier versions, which is named as in a file, as a flag, or as a variable without the program's
// prefix; "" if there was none of that name.
func Gone(name string) string { return gone[flagName(strings.ToLower(name))] }

// ExplainGone adds that to the problems of keys below path, such as $, in a file.
func ExplainGone(problems []strictyaml.Problem, path string) {
	for i, p := range problems {
		if name, below := strings.CutPrefix(p.Path, path+"."); below {
			problems[i].Hint = cmp.Or(Gone(name), p.Hint)
		}
	}
}
