package tray

import (
	"cmp"
	"slices"
	"strconv"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// agentState is the agent's state as the tray sees it.
type agentState string

const (
	agentDown     agentState = "down"     // it does not run
	agentStarting agentState = "starting" // the user has started it from the tray
	agentUp       agentState = "up"
	agentSilent   agentState = "silent" // it is there but does not answer
)

// view is everything that the tray knows.
type view struct {
	Program     string // its name, for About
	Version     string // of the tray
	Vendor      string
	Agent       agentState
	Status      control.Status    // valid if Agent is agentUp
	Reason      *health.Condition // why Agent is agentSilent
	PreviousLog string            // the log file of an earlier agent, if Status names none
	Autostart   bool              // the tray is started at each log-in
	Scheme      desktop.Scheme
	Notice      notice
}

// notice is the message about the user's last action; without a key there is none.
type notice struct {
	Key  string
	Args texts.Args
}

// state is what the icon shows: the first case that applies.
func (v view) state() icon.State {
	switch {
	case v.Agent != agentUp:
		return icon.Down
	case len(v.Status.Clients.Sessions) == 0 || v.Status.Pause != nil:
		return icon.NoClient
	case len(v.Status.Conditions) > 0 && v.worst().Severity == health.Problem:
		return icon.Trouble
	case v.muted() != "":
		return icon.Muted
	default:
		return icon.Reporting
	}
}

// muted returns the name of the first product that is muted in hardware, or "".
func (v view) muted() string {
	for _, p := range v.Status.Products {
		if slices.ContainsFunc(p.Devices, func(d control.Device) bool { return d.Flags[devices.HardwareMute].Value == devices.True }) {
			return cmp.Or(p.Name, p.ID)
		}
	}
	return ""
}

// logFile returns the agent's log file, or "" if a journal or a terminal has its log.
func (v view) logFile() string {
	if v.Agent == agentUp {
		return v.Status.LogFile
	}
	return cmp.Or(v.Status.LogFile, v.PreviousLog)
}

// severities are those that the menu shows, worst first.
var severities = []health.Severity{health.Problem, health.Warning}

// trouble lists what the user has to know, worst first: what is wrong, and the setting of the client with which nothing can be shown
// although all is right.
func (v view) trouble() (list []health.Condition) {
	switch {
	case v.Agent == agentSilent && v.Reason != nil:
		return []health.Condition{*v.Reason}
	case v.Agent != agentUp:
		return nil
	}
	for _, severity := range severities {
		for _, c := range v.Status.Conditions {
			if c.Severity == severity && c.Code != health.AgentPaused { // which has rows of its own
				list = append(list, c.Known())
			}
		}
	}
	for _, c := range v.Status.Conditions {
		if c.Code == health.UserDefaultInput {
			list = append(list, c.Known())
		}
	}
	return list
}

// worst returns the most important condition, or the zero Condition.
func (v view) worst() health.Condition {
	if list := v.trouble(); len(list) > 0 {
		return list[0]
	}
	return health.Condition{}
}

// reportedDevices returns how many devices the best informed client has been told of.
func (v view) reportedDevices() (most int) {
	for _, s := range v.Status.Clients.Sessions {
		if s.Connected() {
			most = max(most, s.Devices)
		}
	}
	return most
}

// tooltip says what the icon means.
func tooltip(v view, say texts.Printer) string {
	say = say.Isolated()
	args := texts.Args{"vendor": name(v.Vendor)}
	key := "tray.tooltip.down"
	state := v.state()
	if v.Agent == agentSilent && v.Reason != nil {
		state = icon.Trouble // its words, although the icon is that of an agent that does not run
	}
	switch state {
	case icon.NoClient:
		key = "tray.tooltip.no_client"
		if v.Status.Pause != nil {
			key = "tray.tooltip.paused"
		}
	case icon.Trouble:
		key = "tray.tooltip.trouble"
		args["trouble"] = health.Texts{Printer: say}.Message(v.worst().Map(name))
	case icon.Muted:
		key = "tray.tooltip.muted"
		args["product"] = name(v.muted())
	case icon.Reporting:
		key = "tray.tooltip.reporting"
		args["n"] = strconv.Itoa(v.reportedDevices())
	}
	return shorten(say.Text(key, args), maxTooltip)
}
