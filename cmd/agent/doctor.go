package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/doctor"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/strictyaml"
	"sidetone/internal/texts"
)

// finding is the result of one check.
type finding struct {
	Step string `json:"step"` // of the way from the headset to what the user sees
	control.Condition
}

// steps names the step of an area of conditions, if it is not called like the area.
var steps = map[string]string{"user": "in the client"}

// doctorAnswer is the JSON of 'sidetone doctor'.
type doctorAnswer struct {
	OK       bool      `json:"ok"` // no problem was found
	Findings []finding `json:"findings"`
}

func doctorCommand() *cobra.Command {
	return withJSON(withSettings(&cobra.Command{
		Use:   "doctor",
		Short: "Find out why the client does not show what it should",
		Long: `Checks every station between the headset and the client: the agent, its settings and catalogue, its
sources, the devices, their flags, the clients, and what the user has to do in the client. Says
whether each is in order, and what to do if not. Without a running agent it reads settings,
catalogue and devices itself.

Exit codes: 0 nothing is wrong; 1 there is a problem; 2 the input is wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			gathered, err := gather(cmd)
			if err != nil {
				return err
			}
			found := doctor.Examine(gathered)
			wrong := doctor.Wrong(found)
			return failedIf(wrong, respond(cmd, doctorAnswer{!wrong, findings(found)}, func(w io.Writer) error {
				return printFindings(w, wordsFor(cmd), found)
			}))
		},
	}))
}

// gather gets the facts from the agent, or reads everything itself if there is none. It returns errors of the command line only;
// all others become findings.
func gather(cmd *cobra.Command) (doctor.Facts, error) {
	o := settingsSources(cmd)
	c := config.Default()
	var problems []strictyaml.Problem
	for i, from := range []config.Options{
		o,
		{Flags: o.Flags, Env: o.Env, EnvPrefix: o.EnvPrefix, Policy: o.Policy, Registry: o.Registry},
		{Flags: o.Flags, Policy: o.Policy, Registry: o.Registry},
	} {
		loaded, _, found := config.Load(from)
		for _, p := range found {
			if strings.HasPrefix(p.File, "--") || p.File == o.Explicit && p.Line == 0 {
				return doctor.Facts{}, badInput(errors.New(p.String()))
			}
		}
		if i == 0 {
			problems = found // then try with fewer sources: whatever else is valid is examined
		}
		if loaded != nil {
			c = loaded
			break
		}
	}
	g := doctor.Facts{
		OwnCatalogue: c.Catalogue, CataloguePath: c.Catalogue, Problems: problems, Ignored: app.Ignored(o), Version: version, Now: time.Now(),
		Variables: config.UnknownVariables(o.EnvPrefix, o.Env),
	}
	client, err := app.FindAgent(cmd.Context(), c, host)
	if errors.As(err, new(app.InputError)) {
		return doctor.Facts{}, err
	}
	if err == nil {
		err = askFacts(cmd.Context(), client, &g)
	}
	g.AgentErr, g.Service = err, registered(cmd.Context(), c)
	g.NoTrayHost = desktop.Desktop{Getenv: host.Getenv}.LacksTray(cmd.Context())
	loadCatalogue(&g)
	if g.Status == nil {
		readFacts(cmd.Context(), c, &g)
	}
	return g, cmd.Context().Err()
}

// registered returns how the agent that these settings mean is registered to start at log-in; nil: unknown.
func registered(ctx context.Context, c *config.Config) *doctor.Service {
	m, err := serviceManager()
	if err != nil {
		return nil
	}
	st, err := m.State(ctx)
	if err != nil {
		return nil
	}
	there := serviceStatus{State: st}
	there.addAddress(ctx, registeredSettings(ctx, m))
	if address, err := app.AgentAddress(ctx, c, host); err == nil && there.Address != "" && there.Address != address {
		return &doctor.Service{} // of another vendor
	}
	return &doctor.Service{Path: st.Path, Installed: st.Installed, Running: st.Running, Missing: st.Missing}
}

// asks is how often the agent is asked until its two answers have the same generation.
const asks = 3

// askStatusAndDevices returns the agent's status and devices, of the same generation if possible.
func askStatusAndDevices(ctx context.Context, c *control.Client) (st control.Status, list control.Devices, err error) {
	for i := 0; i == 0 || i < asks && st.Generation != list.Generation; i++ {
		if st, err = c.Status(ctx); err != nil {
			return st, list, err
		}
		if list, err = c.Devices(ctx); err != nil {
			return st, list, err
		}
	}
	return st, list, nil
}

// askFacts gets all facts from the agent, or none.
func askFacts(ctx context.Context, c *control.Client, g *doctor.Facts) error {
	st, list, err := askStatusAndDevices(ctx, c)
	if err == nil {
		g.Status, g.Sources, g.Devices, g.HID, g.CataloguePath = &st, st.Sources, list, st.HID, st.Catalogue
	}
	return err
}

// loadCatalogue reads the catalogue in force, and checks the one in the settings if that is another one.
func loadCatalogue(g *doctor.Facts) {
	if g.CataloguePath != "" {
		cat, problems := readCatalogue(g.CataloguePath)
		g.Catalogue, g.Problems = cat, append(g.Problems, problems...)
	}
	if g.OwnCatalogue != "" && g.OwnCatalogue != g.CataloguePath {
		_, g.OwnProblems = readCatalogue(g.OwnCatalogue)
	}
}

// readCatalogue loads a catalogue, and turns a read error into a problem.
func readCatalogue(path string) (*catalogue.Catalogue, []strictyaml.Problem) {
	cat, problems, err := catalogue.Load(path)
	if err != nil {
		if readErr, ok := errors.AsType[*strictyaml.ReadError](err); ok {
			err = readErr.Err
		}
		problems = []strictyaml.Problem{{File: path, Message: fmt.Sprintf("cannot read the file, %v", err)}}
	}
	return cat, problems
}

// readFacts reads this machine's devices as 'sidetone devices' does.
func readFacts(ctx context.Context, c *config.Config, g *doctor.Facts) {
	set := &app.Settings{Config: c, Catalogue: g.Catalogue}
	if c.Sources.HID {
		g.HID = app.ReadHID(ctx, set, host)
	}
	var err error
	if g.Sources, g.Devices, err = app.ReadDevices(ctx, set, host, slog.New(slog.DiscardHandler)); err != nil {
		reason := health.Wrap(err, health.SourcesNotOpened, health.Problem, nil)
		g.Sources = []control.Source{{Name: "all", Condition: string(engine.Failing), Reason: control.ConditionOf(&reason.Condition)}}
	}
}

// findings renders the conditions in English, for programs.
func findings(found []health.Condition) []finding {
	out := make([]finding, 0, len(found))
	for _, c := range control.ConditionsOf(found) {
		area := c.Code.Area()
		out = append(out, finding{cmp.Or(steps[area], area), c})
	}
	return out
}

// printFindings prints the conditions for people, with a summary.
func printFindings(w io.Writer, say health.Texts, found []health.Condition) error {
	var b strings.Builder
	at := ""
	number := make(map[health.Severity]int)
	for _, c := range found {
		if area := say.Text("area."+c.Code.Area(), nil); area != at {
			at = area
			fmt.Fprintf(&b, "%s\n", at)
		}
		number[c.Severity]++
		fmt.Fprintf(&b, "  %-8s %s\n", say.Text("severity."+string(c.Severity), nil), printable(say.Message(c)))
		if remedy := say.Remedy(c); remedy != "" {
			fmt.Fprintf(&b, "  %-8s -> %s\n", "", printable(remedy))
		}
	}
	key := "doctor.fine"
	if number[health.Problem] > 0 {
		key = "doctor.wrong"
	}
	args := texts.Args{"problems": strconv.Itoa(number[health.Problem]), "warnings": strconv.Itoa(number[health.Warning])}
	fmt.Fprintf(&b, "\n%s\n", say.Text(key, args))
	_, err := io.WriteString(w, b.String())
	return err
}
