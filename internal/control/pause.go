package control

import (
	"encoding/json"
	"fmt"
)

// parsePause reads the body of a pause with the care of parsePush: a slip in a name would make a pause without an end.
func parsePause(body []byte) (p PauseRequest, err error) {
	given, err := objectOf(body)
	if err != nil {
		return p, err
	}
	err = readMembers(given, "$", []member{
		{"for_ms", false, func(v json.RawMessage, at string) error {
			err := whole(&p.ForMS, uint64(MaxPause.Milliseconds()))(v, at)
			if err == nil && p.ForMS == 0 {
				err = fmt.Errorf("%s: want at least 1; leave it out for a pause that somebody ends", at)
			}
			return err
		}},
		{"until_login", false, func(_ json.RawMessage, at string) error {
			return fmt.Errorf("%s is gone: give for_ms, or nothing and end the pause by /v1/resume", at)
		}},
	})
	return p, err
}
