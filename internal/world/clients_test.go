package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// clientScenario is a desk without devices: lists come from nowhere.
type clientScenario struct {
	Seed      uint64       `json:"seed"`
	Clients   []ClientSpec `json:"clients"`
	Reporting Reporting    `json:"reporting"`
	Long      bool         `json:"long,omitempty"` // the lists are longer than what a client reads ahead
	Steps     []ClientStep `json:"steps"`
}

func drawClientScenario(seed uint64) clientScenario {
	g := &generator{rand.New(rand.NewPCG(seed, 2))}
	s := clientScenario{Seed: seed, Reporting: drawReporting(g), Clients: drawClients(g), Long: g.one(6)}
	s.Steps = drawClientSteps(g, len(s.Clients), pick(g, g.IntN(6), g.IntN(28)), s.Reporting)
	return s
}

// list is the nth one: no two are equal.
func (s clientScenario) list(n int) devices.Snapshot {
	muted, model := n%2 == 1, fmt.Sprintf("Model %d", n)
	if s.Long {
		model += strings.Repeat(".", 64<<10)
	}
	return devices.Snapshot{Generation: uint64(n + 1), At: time.Now(), Devices: []devices.Report{{Device: devices.Device{
		Type: devices.AudioInput, ID: "mic", Vendor: devices.Company{Name: "Acme", URL: "https://acme.example"},
		Model: devices.Company{Name: model, URL: "https://acme.example"}, Related: []string{}, HardwareMute: &muted,
	}}}}
}

// play runs the scenario in virtual time.
func (s clientScenario) play(t *testing.T) (violations []Violation, story, plot []string) {
	synctest.Test(t, func(*testing.T) {
		c := newClients(s.Seed, s.Clients, s.Reporting)
		n := 0
		c.publish(s.list(n))
		c.startAgent()
		for i, step := range s.Steps {
			c.pass(time.Duration(step.After)*time.Millisecond + time.Duration(13+7*i))
			if step.Do == Publish {
				n++
				c.publish(s.list(n))
				continue
			}
			c.do(step)
		}
		c.pass(owed + maxLate*time.Millisecond)
		c.checkRest()
		c.close()
		synctest.Wait()
		violations, story, plot = c.told()
	})
	return violations, story, plot
}

// pass lets time pass, and looks on the way whether what had to be prompt was.
func (c *clients) pass(d time.Duration) {
	if early := prompt + 100*time.Millisecond; d > early {
		time.Sleep(early)
		synctest.Wait()
		c.checkPrompt()
		d -= early
	}
	time.Sleep(d)
	synctest.Wait()
}

// reduced leaves out the steps that a violation of the rule does not need.
func (s clientScenario) reduced(t *testing.T, rule string) clientScenario {
	for again := true; again; {
		again = false
		for i := len(s.Steps) - 1; i >= 0; i-- {
			less := s
			less.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
			violations, _, _ := less.play(t)
			if slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == rule }) {
				s, again = less, true
			}
		}
	}
	return s
}

// TestWorldOfClients plays what random seeds draw of clients alone.
func TestWorldOfClients(t *testing.T) {
	found := 0
	for seed := *firstSeed; seed < *firstSeed+max(*seeds, 200) && found < *failures; seed++ {
		s := drawClientScenario(seed)
		violations, _, _ := s.play(t)
		if len(violations) == 0 {
			continue
		}
		found++
		s = s.reduced(t, violations[0].Rule)
		violations, told, plot := s.play(t)
		scenario, err := json.Marshal(s)
		require.NoError(t, err)
		t.Errorf("seed %d: %v\nthe shortest scenario: %s", seed, violations, scenario)
		for n := range replays {
			if _, _, again := s.play(t); !slices.Equal(plot, again) {
				t.Errorf("and replay %d of it took another way: the world is not deterministic", n)
				break
			}
		}
		if *story {
			t.Log(strings.Join(told, "\n"))
		}
		if *save != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*save, fmt.Sprintf("clients-%s-%d.json", violations[0].Rule, seed)), append(scenario, '\n'), 0o644))
		}
	}
}

func TestEqualSeedsGiveEqualRunsOfClients(t *testing.T) {
	for seed := range uint64(20) {
		_, _, first := drawClientScenario(seed).play(t)
		for range 3 {
			_, _, again := drawClientScenario(seed).play(t)
			require.Equal(t, first, again, "seed %d", seed)
		}
	}
}

// once are scenarios in which something was wrong once.
var once = map[string]string{
	"an unmute while the client was frozen": `{"clients":[{"profile":"desktop"}],"steps":[
		{"after":31000,"do":"freezes"},{"after":2000,"do":"publish"},{"after":12000,"do":"thaws"},{"after":5000,"do":"publish"}]}`,
	"two reloads, a change, and the end": `{"clients":[{"profile":"desktop"}],"steps":[{"after":2000,"do":"configure","reporting":{"timing":1}},
		{"after":600,"do":"configure","reporting":{"timing":2}},{"after":500,"do":"publish"},{"after":1200,"do":"stop agent"}]}`,
	"a port that another process holds for the client": `{"clients":[{"profile":"desktop","relay":true}],"steps":[{"after":84,"do":"publish"}]}`,
	"a socket after the first request was given up": `{"clients":[{"profile":"desktop","socket_late":120000,"fault":"1*http/no-answer"}],
		"steps":[{"after":5000,"do":"publish"}]}`,
	"a slow answer to GET where nobody tells whose the port is": `{"clients":[{"profile":"desktop","slow_get":true}],"reporting":{"sight":"users"}}`,
	"an unspecified answer to GET, likewise":                    `{"clients":[{"profile":"desktop","unspecified":true}],"reporting":{"sight":"sockets"}}`,
	"the end of a client that was lost once, and told over its port": `{"clients":[{"profile":"desktop"}],"reporting":{"sight":"users","on_exit":"unmute"},"steps":[
		{"after":200,"do":"drops"},{"after":40000,"do":"publish"},{"after":90000,"do":"stop agent"}]}`,
	"a list over HTTP to a client that has not answered yet": `{"clients":[{"profile":"desktop","fault":"2*answer-late=8s"}],"reporting":{"sight":"sockets"},"steps":[
		{"after":400,"do":"resend"},{"after":800,"do":"publish"},{"after":9400,"do":"publish"}]}`,
	"another user takes the port while it is connected to": `{"seed":2,"clients":[{"profile":"desktop","no_socket":true},
		{"profile":"desktop","no_socket":true,"foreign":true,"off":true}],"steps":[{"after":31000,"do":"publish"},
		{"after":1000,"do":"stop"},{"after":0,"do":"start","client":1},{"after":2000,"do":"publish"}]}`,
}

func TestWhatWasWrongWithClientsOnce(t *testing.T) {
	for name, text := range once {
		t.Run(name, func(t *testing.T) {
			var s clientScenario
			require.NoError(t, json.Unmarshal([]byte(text), &s))
			violations, _, _ := s.play(t)
			require.Empty(t, violations)
		})
	}
}
