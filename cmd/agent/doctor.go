package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sidetone/internal/agent"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
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

	CataloguePath string               // of the agent, or of the settings here; "" = none is set
	OwnCatalogue  string               // of the settings here
	Catalogue     *devices.Catalogue   // nil: there is none in order
	Problems      []strictyaml.Problem // with settings and catalogue

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
				return silent(exitFailed)
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
				return doctorInput{}, badInput{errors.New(p.String())}
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
	g.AgentErr = g.ask(cmd.Context(), c)
	if g.Status != nil {
		g.CataloguePath = g.Status.Catalogue
	}
	g.loadCatalogue()
	if g.Status == nil {
		g.read(cmd.Context(), c)
	}
	return g, cmd.Context().Err()
}

// asks is how often the agent is asked while its two answers are of different moments.
const asks = 3

// ask takes everything from the agent, or nothing.
func (g *doctorInput) ask(ctx context.Context, c *config.Config) error {
	address, err := controlAddress(c)
	if err != nil {
		return err
	}
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return platform.DialControl(ctx, address) })
	var st control.Status
	var list control.Devices
	for i := 0; i == 0 || i < asks && st.Generation != list.Generation; i++ {
		if st, err = client.Status(ctx); err != nil {
			return err
		}
		if list, err = client.Devices(ctx); err != nil {
			return err
		}
	}
	g.Status, g.Sources, g.Devices = &st, st.Sources, list
	return nil
}

func (g *doctorInput) loadCatalogue() {
	if g.CataloguePath == "" {
		return
	}
	cat, problems, err := config.LoadCatalogue(g.CataloguePath)
	if err != nil {
		if readErr, ok := errors.AsType[*strictyaml.ReadError](err); ok {
			err = readErr.Err
		}
		problems = []strictyaml.Problem{{File: g.CataloguePath, Message: fmt.Sprintf("cannot read the file, %v", err)}}
	}
	g.Catalogue, g.Problems = cat, append(g.Problems, problems...)
}

// read looks at this machine's devices as 'sidetone devices' does.
func (g *doctorInput) read(ctx context.Context, c *config.Config) {
	set := &settings{Config: c, cat: &devices.Catalogue{}, log: slog.New(slog.DiscardHandler)}
	if g.Catalogue != nil {
		set.cat = g.Catalogue
	}
	resolver, err := set.resolver()
	if err != nil { // a catalogue that passes its check compiles
		g.Problems = append(g.Problems, strictyaml.Problem{File: g.CataloguePath, Message: err.Error()})
		return
	}
	sources, err := platform.Sources(set.platform(), set.log)
	if err != nil {
		g.Sources = []control.Source{{Name: "all", Condition: string(agent.Failing), Error: err.Error()}}
		return
	}
	seen := look(ctx, sources, resolver)
	for _, s := range seen.Sources {
		condition := agent.Working
		if s.Error != "" {
			condition = agent.Failing
		}
		g.Sources = append(g.Sources, control.Source{Name: s.Name, Condition: string(condition), Error: s.Error, Notes: s.Notes, Endpoints: s.Endpoints})
	}
	considered := resolver.Explain(devices.Inputs{Endpoints: seen.Endpoints})
	for _, e := range seen.Endpoints {
		g.Devices.Endpoints = append(g.Devices.Endpoints, control.Endpoint{Endpoint: e, Considered: considered[e.Key()]})
	}
	g.Devices.Reported, g.Devices.Withheld = seen.Devices, seen.Withheld
}

// diagnose judges each station in turn.
func diagnose(in doctorInput) []finding {
	d := &diagnosis{doctorInput: in, endpoints: make(map[devices.Key]control.Endpoint)}
	for _, e := range in.Devices.Endpoints {
		d.endpoints[e.Key()] = e
	}
	d.agent()
	d.settings()
	d.sources()
	d.devices()
	d.ids()
	for _, r := range d.microphones() {
		d.mute(r)
		d.otherFlags(r)
	}
	if d.Status != nil {
		d.pushes()
		d.clients()
	}
	if !anyWrong(d.found) {
		d.user()
	}
	return d.found
}

type diagnosis struct {
	doctorInput
	endpoints map[devices.Key]control.Endpoint
	found     []finding
}

func (d *diagnosis) add(at station, s severity, remedy, format string, args ...any) {
	d.found = append(d.found, finding{at, s, sentence(fmt.Sprintf(format, args...)), sentence(remedy)})
}

func (d *diagnosis) agent() {
	switch {
	case d.Status == nil && errors.Is(d.AgentErr, control.ErrNotRunning):
		d.add(stepAgent, wrong, "Start it with 'sidetone run --catalogue FILE', as the user who runs the client", "No agent runs for this user, so the client is told nothing")
	case d.Status == nil:
		d.add(stepAgent, wrong, "Run this as the user who runs the agent; if that is so already, restart the agent", "The agent could not be asked: %v", d.AgentErr)
	case d.Status.Version != d.Version:
		d.add(stepAgent, doubtful, "Restart the agent, so that both are of one version", "The agent that runs (process %d) is version %s, this command is %s", d.Status.PID, d.Status.Version, d.Version)
	default:
		d.add(stepAgent, fine, "", "The agent runs as process %d, for %s", d.Status.PID, age(d.Status.Started, d.Now))
	}
	if d.Status == nil {
		d.add(stepAgent, hint, "Start the agent and run this again to see what the vendor's software pushes and what clients have",
			"All that follows was read by this command itself, once")
	}
}

func (d *diagnosis) settings() {
	for _, p := range d.Problems {
		remedy := "Correct it, until 'sidetone config check' finds nothing"
		if p.File == d.CataloguePath {
			remedy = fmt.Sprintf("Correct it, until 'sidetone catalogue check %s' finds nothing", d.CataloguePath)
		}
		d.add(stepSettings, wrong, remedy+d.reload(), "%s", p)
	}
	switch {
	case d.CataloguePath == "":
		d.add(stepSettings, wrong, "Say which devices are yours: --catalogue FILE, SIDETONE_CATALOGUE or 'catalogue:' in the settings file",
			"No catalogue is set, so no device can be recognised")
	case d.Catalogue != nil && len(d.Problems) == 0:
		d.add(stepSettings, fine, "", "Settings and the catalogue %s are in order; it has %d products of %s", d.CataloguePath, len(d.Catalogue.Products), d.Catalogue.Vendor.Name)
	}
	if d.OwnCatalogue != "" && d.OwnCatalogue != d.CataloguePath {
		d.add(stepSettings, doubtful, "If that is the one you mean, restart the agent with it", "The agent uses another catalogue than the settings here, which name %s", d.OwnCatalogue)
	}
}

// reload is what to do after a correction while an agent runs.
func (d *diagnosis) reload() string {
	if d.Status == nil {
		return ""
	}
	return fmt.Sprintf("; then have the agent read it again (kill -HUP %d, or POST /v1/reload), which keeps the old one until then", d.Status.PID)
}

func (d *diagnosis) sources() {
	if len(d.Sources) == 0 {
		d.add(stepSources, wrong, "Set sources.audio or sources.camera to true, or name a file in sources.files; on Windows and macOS only such files are read so far",
			"Nothing is asked for devices")
	}
	for _, s := range d.Sources {
		switch agent.Condition(s.Condition) {
		case agent.Working:
			d.add(stepSources, fine, "", "The source %s works; it lists %d endpoints", s.Name, s.Endpoints)
		case agent.Starting:
			d.add(stepSources, doubtful, "Run this again in some seconds; if it stays so, restart the sound server", "The source %s has not answered yet", s.Name)
		default:
			d.add(stepSources, wrong, sourceRemedy(s.Name, s.Error), "The source %s cannot be read, so what it would list is unknown: %s", s.Name, s.Error)
		}
		for _, note := range s.Notes {
			how := doubtful
			if strings.Contains(note, "miniaudio") { // it only confirms the list
				how = hint
			}
			d.add(stepSources, how, sourceRemedy(s.Name, note), "The source %s says: %s", s.Name, note)
		}
	}
}

// deniedPath is the file that a text of a failure complains of.
var deniedPath = regexp.MustCompile(`(/[^\s:,()]+)[^/]*permission denied`)

func sourceRemedy(source, text string) string {
	switch m := deniedPath.FindStringSubmatch(text); {
	case m != nil:
		return fmt.Sprintf("Let this user read %s: log in at the machine itself, or join the group that 'ls -l %s' shows, and log in again", m[1], m[1])
	case strings.Contains(text, "permission denied"):
		return "Run 'ls -l' on the file that is named, and join the group that it belongs to"
	case strings.Contains(text, "miniaudio"):
		return "Nothing to do: the sound server's own list is used"
	case strings.HasPrefix(source, "file:"):
		return fmt.Sprintf("Correct %s, or take it out of sources.files", strings.TrimPrefix(source, "file:"))
	case source == "audio":
		return "Start the sound server ('systemctl --user start pipewire-pulse' or 'pulseaudio --start'); if it runs elsewhere, name it in sources.pulse_server"
	case source == "camera":
		return "Unplug the camera and plug it in again; if you have none, set sources.camera to false"
	default:
		return "Correct sources.* in the settings; 'sidetone config show' lists them"
	}
}

// unknownDevice is the reason of the resolver to withhold what no link of the catalogue matches.
const unknownDevice = "the catalogue names no such device"

func (d *diagnosis) devices() {
	if d.Status == nil && d.Catalogue == nil {
		return // nothing could be recognised
	}
	plugged := products(devices.Snapshot{Devices: d.Devices.Reported})
	for _, p := range plugged {
		var types []string
		for _, dev := range p.Devices {
			types = append(types, fmt.Sprintf("%s %q", dev.Type, dev.ID))
		}
		d.add(stepDevices, fine, "", "%s is plugged in, as %s", p.Name, strings.Join(types, ", "))
	}
	if d.withheld(len(plugged) > 0) || len(plugged) > 0 {
		return
	}
	how, remedy := wrong, "Plug one in; if one is, see what 'sidetone devices' and the system's sound settings show, and try another cable or socket"
	for _, s := range d.Sources {
		switch agent.Condition(s.Condition) {
		case agent.Working:
		case agent.Starting:
			how, remedy = doubtful, "Run this again in some seconds, when all sources have answered"
		default:
			how, remedy = doubtful, "Look at the source that does not work first: what it would list is unknown"
		}
	}
	d.add(stepDevices, how, remedy, "No product of the catalogue is plugged in, as far as can be seen")
}

// withheld tells of the vendor's devices that are not reported, and whether there are any.
func (d *diagnosis) withheld(reported bool) bool {
	how, milder := wrong, doubtful
	if reported {
		how, milder = doubtful, hint
	}
	some := false
	told := make(map[string]bool) // ids of devices that have several endpoints
	for _, h := range d.Devices.Withheld {
		e := d.endpoints[h.Key]
		vendors := d.vendors(e.VID)
		switch id := e.VID + ":" + e.PID; {
		case h.Reason != unknownDevice && (vendors || !e.Virtual):
			d.add(stepDevices, milder, d.withheldRemedy(h), "%s %q is not reported: %s", h.Type, h.Name, h.Reason)
		case !vendors || e.Virtual || told[id]:
			continue
		default:
			told[id] = true
			d.add(stepDevices, how, fmt.Sprintf("If it is a product of yours, add the id %q to the pids of its link in %s; if it is there, look at the link's kind, os and name_regex%s", e.PID, orElse(d.CataloguePath, "the catalogue"), d.reload()),
				"%q (USB id %s) is of this vendor, but no product of the catalogue matches it", h.Name, id)
		}
		some = true
	}
	return some
}

func (d *diagnosis) withheldRemedy(h devices.Withheld) string {
	if d.endpoints[h.Key].Plugged == devices.False {
		return "Push the plug all the way into the jack"
	}
	return fmt.Sprintf("If it should be reported, change endpoints, virtual_endpoints or id_scheme of its product in %s; 'sidetone devices' shows its facts", orElse(d.CataloguePath, "the catalogue"))
}

// vendors reports whether a USB vendor id is one of the catalogue's.
func (d *diagnosis) vendors(vid string) bool {
	return vid != "" && d.Catalogue != nil && slices.ContainsFunc(d.Catalogue.Products, func(p devices.Product) bool {
		return slices.ContainsFunc(p.Links, func(l devices.Link) bool { return strings.EqualFold(l.VID, vid) })
	})
}

// maxID is where the client may cut a name, in bytes (rule R61).
const maxID = 127

// ids looks for devices that the client may not know by the id that it is sent.
func (d *diagnosis) ids() {
	for _, r := range d.Devices.Reported {
		name := d.endpoint(r).Name
		if n := len(r.Endpoints); n > 1 {
			d.add(stepDevices, doubtful, "Unplug all but one, or give each a name of its own in the system's sound settings; the client then shows a mute of each",
				"%d devices of type %s go by the one id %q and are one to the client, which shows a mute only if all are muted", n, r.Type, r.ID)
		}
		if !strings.HasPrefix(name, r.ID) {
			continue // its id is not its name
		}
		if len(name) > maxID || len(r.ID) < len(name) {
			d.add(stepDevices, doubtful, "Give it a shorter name in the system's sound settings, if the client shows nothing for it",
				"The name of %q has %d bytes, of which %d are sent; the client may cut it at another place", r.ID, len(name), len(r.ID))
		}
		if strings.HasPrefix(strings.ToLower(r.ID), "default") {
			d.add(stepDevices, doubtful, "Rename it in the system's sound settings, so that its name begins with another word",
				"The name of %q begins with \"default\", and the client may take it for its entry \"Default\" and show nothing for it", r.ID)
		}
	}
}

func (d *diagnosis) microphones() []devices.Report {
	var list []devices.Report
	for _, r := range d.Devices.Reported {
		if r.Type == devices.AudioInput {
			list = append(list, r)
		}
	}
	return list
}

// endpoint is the first one behind a report.
func (d *diagnosis) endpoint(r devices.Report) control.Endpoint {
	if len(r.Endpoints) == 0 {
		return control.Endpoint{}
	}
	return d.endpoints[r.Endpoints[0]]
}

// mute says whether anybody knows the hardware mute of a microphone.
func (d *diagnosis) mute(r devices.Report) {
	flag, may := r.Flags[devices.HardwareMute]
	e := d.endpoint(r)
	all := e.Considered[devices.HardwareMute]
	switch {
	case !may:
		d.add(stepFlags, wrong, "Add hardware_mute to report.fields in the settings"+d.reload(), "The mute of %q is not sent: the setting report.fields leaves it out", r.ID)
	case !flag.Value.Known() && len(all) == 0:
		d.add(stepFlags, doubtful, fmt.Sprintf("If it has a mute button, name a source of hardware_mute for %s in the catalogue, or have the vendor's software push it ('sidetone push %s hardware_mute=true')", r.Product, r.Product),
			"The client is never told of a mute of %q: the catalogue names no source for it, and nobody pushes it", r.ID)
	case !flag.Value.Known():
		reason, remedy := d.whyUnknown(all, r, e)
		d.add(stepFlags, wrong, remedy, "Nobody knows whether %q is muted, so the client is not told: %s", r.ID, reason)
	case flag.Origin.Stale:
		d.add(stepFlags, doubtful, "See why the source fails, above; until it works again a press of the button is not noticed",
			"That %q is %s is the last word of a source that fails now (%s)", r.ID, mutedWords(flag.Value), flag.Origin)
	default:
		d.add(stepFlags, fine, "Press the button and run this again: if this line stays the same, that source does not see the button; see 'sidetone explain'",
			"The microphone %q is %s, says %s", r.ID, mutedWords(flag.Value), flag.Origin)
	}
	if hw := d.origin(flag, e); flag.Origin.Via == devices.ViaOSEndpointMute && !hw.MuteInHardware {
		d.add(stepFlags, hint, fmt.Sprintf("Nothing to do if the button of %s is known to set it; else take out 'require_hardware_support: false'", r.Model.Name),
			"The mute of %q is the one that the system does in software, as the catalogue allows, so a mute in the sound settings counts too", r.ID)
	}
}

// origin is the endpoint whose fact the flag is: e, or the one whose sound e carries.
func (d *diagnosis) origin(f devices.Flag, e control.Endpoint) control.Endpoint {
	for _, other := range d.Devices.Endpoints {
		if other.Type == devices.AudioInput && other.ID == f.Origin.Detail {
			return other
		}
	}
	return e
}

func mutedWords(v devices.Tri) string {
	if v == devices.True {
		return "muted on the hardware"
	}
	return "not muted on the hardware"
}

// whyUnknown says of each source of the mute why it does not know, and what to do about the best.
func (d *diagnosis) whyUnknown(all []devices.Considered, r devices.Report, e control.Endpoint) (reason, remedy string) {
	var reasons []string
	for _, c := range all {
		rule := d.rule(r.Product, c.Rule)
		why, do := "it does not know", fmt.Sprintf("See 'sidetone explain %s' and the sources of %s in the catalogue", e.ID, r.Product)
		switch {
		case rule.OSEndpointMute != nil && e.Mute.Known() && !e.MuteInHardware && !e.Virtual:
			why = "the system's mute of this endpoint is no switch in the device, and the catalogue demands one"
			do = fmt.Sprintf("Push the state from the vendor's software ('sidetone push %s hardware_mute=true'); only if the button is known to set this mute, set 'require_hardware_support: false'", r.Product)
		case rule.OSEndpointMute != nil:
			why = "the system does not tell the mute of this endpoint"
		case rule.ALSACtl != nil && len(e.Controls) == 0:
			why = fmt.Sprintf("the switches of the device's mixer cannot be read, such as %q", rule.ALSACtl.Name)
			do = "Look at what the source audio says above; if it may not open the sound card's controls, let this user read /dev/snd"
		case rule.ALSACtl != nil:
			why = fmt.Sprintf("the device's mixer has no switch %q; it has %s", rule.ALSACtl.Name, strings.Join(quoted(sortedKeys(e.Controls)), ", "))
			do = fmt.Sprintf("Correct the name in the catalogue's %s of %s%s", c.Rule, r.Product, d.reload())
		}
		reasons = append(reasons, c.Rule+": "+why)
		if remedy == "" {
			remedy = do
		}
	}
	return strings.Join(reasons, "; "), remedy
}

// rule is the one of the catalogue at that place of a product; its zero value if it is not known.
func (d *diagnosis) rule(product, place string) devices.SourceRule {
	if d.Catalogue == nil {
		return devices.SourceRule{}
	}
	for _, p := range d.Catalogue.Products {
		for i, s := range p.Sources {
			if p.ID == product && place == fmt.Sprintf("sources[%d]", i) {
				return s
			}
		}
	}
	return devices.SourceRule{}
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}

// otherFlags names those that have sources of which none knows.
func (d *diagnosis) otherFlags(r devices.Report) {
	e := d.endpoint(r)
	var unknown []string
	for _, f := range devices.Fields {
		flag, may := r.Flags[f]
		if f == devices.HardwareMute || !may || flag.Value.Known() || len(e.Considered[f]) == 0 {
			continue
		}
		var rules []string
		for _, c := range e.Considered[f] {
			rules = append(rules, c.Rule)
		}
		unknown = append(unknown, fmt.Sprintf("%s (%s of %s)", f, strings.Join(rules, ", "), r.Product))
	}
	if len(unknown) > 0 {
		d.add(stepFlags, hint, fmt.Sprintf("Nothing to do if the device has no such processing on this endpoint; else see 'sidetone explain %s', or push it from the vendor's software", e.ID),
			"Of %q this is not sent, because the sources that the catalogue names do not know it: %s", r.ID, strings.Join(unknown, ", "))
	}
}

func (d *diagnosis) pushes() {
	for _, p := range d.Status.Pushes {
		who := fmt.Sprintf("What %s pushes for %s", p.Owner, p.Product+serialOf(p))
		idle := d.withoutEffect(p)
		switch {
		case p.Units == 0:
			d.add(stepPushes, doubtful, "Plug the product in; if it is, compare the product's id, and the serial, with 'sidetone status'", "%s waits: no such product is plugged in", who)
		case p.Units > 1:
			d.add(stepPushes, wrong, "The software has to give the serial of the one that it means; until then unplug the others", "%s has no effect: %d products that are plugged in could be meant", who, p.Units)
		case len(idle) > 0:
			d.add(stepPushes, doubtful, "'sidetone explain' of its microphone shows who decides; a flag may also be left out by report.fields, and a product without a microphone has none",
				"%s has no effect on %s: somebody who pushed later decides, or it is not sent at all", who, strings.Join(idle, ", "))
		default:
			d.add(stepPushes, fine, "", "%s is in force: %s", who, pushWords(p, d.Now))
		}
	}
}

// withoutEffect are the flags of a push that no microphone of its product has from it.
func (d *diagnosis) withoutEffect(p control.Push) []string {
	var idle []string
	for _, f := range devices.Fields {
		counts := func(r devices.Report) bool {
			o := r.Flags[f].Origin
			return r.Product == p.Product && o.Via == devices.ViaPush && o.Detail == p.Owner
		}
		if p.State[f].Known() && !slices.ContainsFunc(d.microphones(), counts) {
			idle = append(idle, string(f))
		}
	}
	return idle
}

func (d *diagnosis) clients() {
	c := d.Status.Clients
	switch {
	case len(c.Sessions) > 0:
	case c.Error == "":
		d.add(stepClients, doubtful, "Run this again in some seconds", "The search for clients has just begun, none has been found yet")
	default:
		d.add(stepClients, wrong, orElse(c.Remedy, "Start the client; it is found by itself"), "%s", capital(c.Error))
	}
	served := slices.ContainsFunc(c.Sessions, func(s control.Session) bool {
		return s.State == string(rpcclient.Ready) || s.State == string(rpcclient.Degraded)
	})
	for _, s := range c.Sessions {
		d.session(s, served)
	}
	for _, n := range c.Notes {
		how, remedy := doubtful, "Do as it says, then restart the client"
		if strings.HasPrefix(n, "port ") {
			remedy = "Nothing to do while a client is served; else end that program, then restart the client"
		}
		if served {
			how = hint
		}
		d.add(stepClients, how, remedy, "Where a client might be: %s", n)
	}
}

// session judges the conversation with one client. One that gets nothing is a problem unless
// another one is served.
func (d *diagnosis) session(s control.Session, served bool) {
	who, how := peerWords(s), wrong
	if s.Name == "" {
		who = capital(who)
	}
	if served {
		how = hint
	}
	current := s.Generation >= d.Status.Generation
	switch rpcclient.State(s.State) {
	case rpcclient.Ready:
		if !current {
			d.add(stepClients, doubtful, "Run this again in some seconds; if it stays so, restart the client", "%s is connected, but has not accepted the latest list yet", who)
			return
		}
		d.add(stepClients, fine, "", "%s has accepted the latest list, of %d devices, %s ago", who, s.Devices, age(s.Delivered, d.Now))
	case rpcclient.Degraded:
		list := "has the latest list"
		if !current {
			list = "does not have the latest list yet"
		}
		if !s.NextTry.IsZero() {
			list += ", and takes the next one in " + seconds(s.NextTry.Sub(d.Now))
		}
		d.add(stepClients, doubtful, orElse(s.Remedy, "Allow ipc in rpc.transports, or have an origin registered and set it in the catalogue"), "%s is told of changes late: it %s", who, list)
	case rpcclient.Connecting:
		d.add(stepClients, doubtful, orElse(s.Remedy, "Run this again in some seconds; if it stays so, restart the client"), "%s was found, but has no list yet%s", who, because(s.Error))
	case rpcclient.Unsupported:
		d.add(stepClients, how, orElse(s.Remedy, "Use the official client"), "%s does not know certified devices%s", who, because(s.Error))
	case rpcclient.Foreign:
		d.add(stepClients, how, orElse(s.Remedy, "Run an agent in that user's session"), "%s belongs to another user and is told nothing", who)
	case rpcclient.Waiting:
		d.add(stepClients, how, "Nothing to do if it is the client that is served already; to report to all, set rpc.clients to all", "%s is not served: another client is, or it may be the same one", who)
	default:
		d.add(stepClients, wrong, orElse(s.Remedy, "Restart the client; if it refuses again, save 'sidetone bundle FILE.zip' for support"), "%s refuses%s", who, because(s.Error))
	}
}

func because(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}

// user says what only the user can look at (rules R64, R65).
func (d *diagnosis) user() {
	for _, r := range d.microphones() {
		name := orElse(d.endpoint(r).Name, r.ID)
		d.add(stepUser, hint, fmt.Sprintf("In the client's settings, Voice & Video, set the input device to %q itself", name),
			"The client shows a mute of %q only while that is selected, and never while \"Default\" is", name)
		if slices.ContainsFunc(r.Endpoints, func(k devices.Key) bool { return d.endpoints[k].Default }) {
			d.add(stepUser, hint, fmt.Sprintf("Set it to %q, although the sound is the same", name),
				"%q is the system's default microphone: with \"Default\" the client records from it and still shows nothing, a likely trap", name)
		}
	}
	if len(d.microphones()) > 0 {
		d.add(stepUser, hint, "Join a voice channel, unmute yourself in the client, see that its settings do not switch the notice off, then press the mute button of the device",
			"The notice of a mute is shown only in a call, only if you are not muted in the client, and only if it is not switched off there")
	}
}

func anyWrong(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.Severity == wrong })
}

// printFindings writes them for people, and what they come to.
func printFindings(w io.Writer, found []finding) error {
	var b strings.Builder
	var at station
	count := make(map[severity]int)
	for _, f := range found {
		if f.Step != at {
			at = f.Step
			fmt.Fprintf(&b, "%s\n", at)
		}
		count[f.Severity]++
		fmt.Fprintf(&b, "  %-8s %s\n", f.Severity, printable(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "  %-8s -> %s\n", "", printable(f.Remedy))
		}
	}
	if anyWrong(found) {
		fmt.Fprintf(&b, "\nproblems: %d, warnings: %d\n", count[wrong], count[doubtful])
	} else {
		fmt.Fprintf(&b, "\nnothing is wrong, warnings: %d\n", count[doubtful])
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

// capital makes s, which is not empty, fit for the beginning of a sentence.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
