package control

import "errors"

// parsePause reads the body of a pause.
func parsePause(body []byte) (p PauseRequest, err error) {
	given, err := decode(body, &p)
	if err != nil {
		return p, err
	}
	if _, there := given["until_login"]; there {
		return p, errors.New("$.until_login is gone: give for_ms, or nothing and end the pause by /v1/resume")
	}
	if _, there := given["for_ms"]; there && p.ForMS == 0 {
		return p, errors.New("$.for_ms: want at least 1; leave it out for a pause that somebody ends")
	}
	return p, checkWhole("for_ms", p.ForMS, MaxPause.Milliseconds())
}
