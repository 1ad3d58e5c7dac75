package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/engine"
	"sidetone/internal/strictyaml"
)

// severity says how much a finding matters.
type severity string

const (
	fine     severity = "ok"
	hint     severity = "info"    // good to know; may explain what the user sees
	doubtful severity = "warning" // may be the reason
	wrong    severity = "problem" // is a reason
)

// station is a stop on the way from the headset to what the user sees.
type station string

const (
	stepAgent    station = "agent"
	stepSettings station = "settings"
	stepSources  station = "sources"
	stepDevices  station = "devices"
	stepFlags    station = "flags"
	stepPushes   station = "pushes"
	stepClients  station = "clients"
	stepUser     station = "in the client"
)

// finding is one thing that was looked at, and how it is.
type finding struct {
	Step     station  `json:"step"`
	Severity severity `json:"severity"`
	Message  string   `json:"message"`          // one sentence
	Remedy   string   `json:"remedy,omitempty"` // what a person can do about it
}

// doctorInput is all that is judged.
type doctorInput struct {
	Status   *control.Status  // nil: no agent answers
	AgentErr error            // why none does
	Sources  []control.Source // the agent's, or this command's own
	Devices  control.Devices  // likewise
	HID      []control.HID    // likewise

	CataloguePath string               // of the agent, or of the settings here; "" = none is set
	OwnCatalogue  string               // of the settings here
	Catalogue     *catalogue.Catalogue // nil: there is none in order
	Problems      []strictyaml.Problem // with settings and catalogue
	OwnProblems   []strictyaml.Problem // with OwnCatalogue, where the agent has another

	Version string // of this command
	Now     time.Time
}

// doctorAnswer is the JSON of 'sidetone doctor'.
type doctorAnswer struct {
	OK       bool      `json:"ok"` // there is no problem
	Findings []finding `json:"findings"`
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	var in settingsFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why the client does not show what it should",
		Long: `Follows the way of a mute from the headset to the client: the agent, its settings and catalogue, its
sources, the devices, their flags, the clients, and what the user has to do in the client. Says of
each whether it is in order, and what to do if not. Without a running agent it reads settings,
catalogue and devices itself.

Exit codes: 0 nothing is wrong; 1 there is a problem; 2 the input is wrong.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			gathered, err := gather(cmd, &in)
			if err != nil {
				return err
			}
			found := diagnose(gathered)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), doctorAnswer{!anyWrong(found), found})
			} else {
				err = printFindings(cmd.OutOrStdout(), found)
			}
			if err == nil && anyWrong(found) {
				return exitCode(exitFailed)
			}
			return err
		},
	}
	in.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// gather asks the agent, or else reads everything itself. The error is one of the command
// line; all others are findings.
func gather(cmd *cobra.Command, in *settingsFlags) (doctorInput, error) {
	o := in.options(cmd)
	c := config.Default()
	var problems []strictyaml.Problem
	for i, from := range []config.Options{o, {Flags: o.Flags, Env: o.Env}, {Flags: o.Flags}} {
		loaded, _, found := config.Load(from)
		for _, p := range found {
			if strings.HasPrefix(p.File, "--") || p.File == in.file && p.Line == 0 {
				return doctorInput{}, badInput(errors.New(p.String()))
			}
		}
		if i == 0 {
			problems = found // of the rest only what is in order is of interest, to go on with
		}
		if loaded != nil {
			c = loaded
			break
		}
	}
	g := doctorInput{OwnCatalogue: c.Catalogue, CataloguePath: c.Catalogue, Problems: problems, Version: version, Now: time.Now()}
	client, err := app.FindAgent(cmd.Context(), c, host)
	if errors.As(err, new(app.InputError)) {
		return doctorInput{}, err
	}
	if err == nil {
		err = g.ask(cmd.Context(), client)
	}
	g.AgentErr = err
	g.loadCatalogue()
	if g.Status == nil {
		g.read(cmd.Context(), c)
	}
	return g, cmd.Context().Err()
}

// asks is how often the agent is asked while its two answers are of different moments.
const asks = 3

// askBoth returns both answers of the agent, of the same moment if that can be had.
func askBoth(ctx context.Context, c *control.Client) (st control.Status, list control.Devices, err error) {
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

// ask takes everything from the agent, or nothing.
func (g *doctorInput) ask(ctx context.Context, c *control.Client) error {
	st, list, err := askBoth(ctx, c)
	if err == nil {
		g.Status, g.Sources, g.Devices, g.HID, g.CataloguePath = &st, st.Sources, list, st.HID, st.Catalogue
	}
	return err
}

// loadCatalogue reads the catalogue that is in force, and looks whether another that was asked for
// is in order.
func (g *doctorInput) loadCatalogue() {
	if g.CataloguePath != "" {
		cat, problems := readCatalogue(g.CataloguePath)
		g.Catalogue, g.Problems = cat, append(g.Problems, problems...)
	}
	if g.OwnCatalogue != "" && g.OwnCatalogue != g.CataloguePath {
		_, g.OwnProblems = readCatalogue(g.OwnCatalogue)
	}
}

// readCatalogue makes a problem of a file that cannot be read.
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

// read looks at this machine's devices as 'sidetone devices' does.
func (g *doctorInput) read(ctx context.Context, c *config.Config) {
	set := &app.Settings{Config: c, Catalogue: g.Catalogue}
	if c.Sources.HID {
		g.HID = app.LookAtHID(ctx, set, host)
	}
	var err error
	if g.Sources, g.Devices, err = app.Look(ctx, set, host, slog.New(slog.DiscardHandler)); err != nil {
		g.Sources = []control.Source{{Name: "all", Condition: string(engine.Failing), Error: err.Error()}}
	}
}

func anyWrong(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.Severity == wrong })
}

// printFindings writes them for people, and what they come to.
func printFindings(w io.Writer, found []finding) error {
	var b strings.Builder
	var at station
	number := make(map[severity]int)
	for _, f := range found {
		if f.Step != at {
			at = f.Step
			fmt.Fprintf(&b, "%s\n", at)
		}
		number[f.Severity]++
		fmt.Fprintf(&b, "  %-8s %s\n", f.Severity, printable(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  %-8s -> %s\n", "", printable(f.Remedy))
		}
	}
	if anyWrong(found) {
		fmt.Fprintf(&b, "\nproblems: %d, warnings: %d\n", number[wrong], number[doubtful])
	} else {
		fmt.Fprintf(&b, "\nnothing is wrong, warnings: %d\n", number[doubtful])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence ends s as one, and makes what another part of the program says look like one.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// capital makes s fit for the beginning of a sentence.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
