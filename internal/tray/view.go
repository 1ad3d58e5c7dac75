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

// agentState is how the agent is to the tray.
type agentState string

// The states of the agent.
const (
	agentDown     agentState = "down"     // it does not run
	agentStarting agentState = "starting" // the user has started it here
	agentUp       agentState = "up"
	agentSilent   agentState = "silent" // it is there and cannot be asked
)

// view is all that the tray knows.
type view struct {
	Program   string // by its own name, for About
	Version   string // of the tray
	Vendor    string
	Agent     agentState
	Status    control.Status    // if it is Up
	Reason    *health.Condition // why it is Silent
	OldLog    string            // the file with the log of an agent of before, where the Status knows of none
	Autostart bool              // the tray is started at each log-in
	Scheme    desktop.Scheme
	Notice    notice
}

// notice is what has become of what the user has wanted: a message; without a key there is nothing to say.
type notice struct {
	Key  string
	Args texts.Args
}

// state is what the icon shows: the first of these that is so.
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

// muted is the name of the first product that is muted on its hardware; "": none is.
func (v view) muted() string {
	for _, p := range v.Status.Products {
		if slices.ContainsFunc(p.Devices, func(d control.Device) bool { return d.Flags[devices.HardwareMute].Value == devices.True }) {
			return cmp.Or(p.Name, p.ID)
		}
	}
	return ""
}

// logFile is the agent's; "": a journal or a terminal has its log.
func (v view) logFile() string {
	if v.Agent == agentUp {
		return v.Status.LogFile
	}
	return cmp.Or(v.Status.LogFile, v.OldLog)
}

// severities are those that the menu tells of, the worst first.
var severities = []health.Severity{health.Problem, health.Warning}

// trouble is what the user has to know, the worst first: what is wrong, and with which setting of the client nothing can be
// shown although all is right.
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
				list = append(list, c.Condition)
			}
		}
	}
	for _, c := range v.Status.Conditions {
		if c.Code == health.UserDefaultInput {
			list = append(list, c.Condition)
		}
	}
	return list
}

// worst is the condition that matters most; the zero Condition: there is none.
func (v view) worst() health.Condition {
	if list := v.trouble(); len(list) > 0 {
		return list[0]
	}
	return health.Condition{}
}

// served is how many devices the clients have been told of: those of the one that knows most.
func (v view) served() (most int) {
	for _, s := range v.Status.Clients.Sessions {
		if s.Connected() {
			most = max(most, s.Devices)
		}
	}
	return most
}

// tooltip is what the icon means.
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
		args["n"] = strconv.Itoa(v.served())
	}
	return shorten(say.Text(key, args), maxTooltip)
}
