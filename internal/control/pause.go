package control

import (
	"encoding/json"
	"errors"
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
		{"until_login", false, func(v json.RawMessage, at string) error {
			kind := kindOf(v)
			if p.UntilLogin = kind == "true"; !p.UntilLogin && kind != "false" {
				return fmt.Errorf("%s: want true or false, not %s", at, kind)
			}
			return nil
		}},
	})
	if err == nil && p.ForMS > 0 && p.UntilLogin {
		err = errors.New("$: want one of for_ms and until_login")
	}
	return p, err
}
