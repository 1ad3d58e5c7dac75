package world

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// once are scenarios in which something was wrong once.
var once = map[string]string{
	"an unmute while the client was frozen": `{"clients":[{"profile":"desktop"}],"steps":[
		{"after":31000,"do":"freezes"},{"after":2000,"do":"publish"},{"after":12000,"do":"thaws"},{"after":5000,"do":"publish"}]}`,
	"two reloads, a change, and the end": `{"clients":[{"profile":"desktop"}],"steps":[{"after":2000,"do":"configure",
		"reporting":{"timing":1}},
		{"after":600,"do":"configure","reporting":{"timing":2}},{"after":500,"do":"publish"},{"after":1200,"do":"stop agent"}]}`,
	"a port that another process holds for the client": `{"clients":[{"profile":"desktop","relay":true}],"steps":[{"after":84,` +
		`"do":"publish"}]}`,
	"a port of a process that one script has started beside the socket's": `{"clients":[{"profile":"desktop","relay":true,"sibling":true}],` +
		`"steps":[{"after":200,"do":"publish"},{"after":200,"do":"publish"}]}`,
	"a socket after the first request was given up": `{"clients":[{"profile":"desktop","socket_late":120000,"fault":"1*http/no-answer"}],
		"steps":[{"after":5000,"do":"publish"}]}`,
	"a slow answer to GET where nobody tells whose the port is": `{"clients":[{"profile":"desktop","slow_get":true}],` +
		`"reporting":{"visibility":"users"}}`,
	"an unspecified answer to GET, likewise": `{"clients":[{"profile":"desktop","unspecified":true}],` +
		`"reporting":{"visibility":"sockets"}}`,
	"the end of a client that was lost once, and told over its port": `{"clients":[{"profile":"desktop"}],
		"reporting":{"visibility":"users","on_exit":"unmute"},"steps":[
		{"after":200,"do":"drops"},{"after":40000,"do":"publish"},{"after":90000,"do":"stop agent"}]}`,
	"a list over HTTP to a client that has not answered yet": `{"clients":[{"profile":"desktop","fault":"2*answer-late=8s"}],
		"reporting":{"visibility":"sockets"},"steps":[
		{"after":400,"do":"resend"},{"after":800,"do":"publish"},{"after":9400,"do":"publish"}]}`,
	"another user takes the port while it is connected to": `{"seed":2,"clients":[{"profile":"desktop","no_socket":true},
		{"profile":"desktop","no_socket":true,"foreign":true,"off":true}],"steps":[{"after":31000,"do":"publish"},
		{"after":1000,"do":"stop"},{"after":0,"do":"start","client":1},{"after":2000,"do":"publish"}]}`,
}

func TestWhatWasWrongWithClientsOnce(t *testing.T) {
	for name, text := range once {
		t.Run(name, func(t *testing.T) {
			var s scenario
			require.NoError(t, json.Unmarshal([]byte(text), &s))
			require.Empty(t, play(t, s, false).Violations)
		})
	}
}
