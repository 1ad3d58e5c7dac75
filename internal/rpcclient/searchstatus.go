package rpcclient

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/texts"
)

// updateStatus updates the part of the status that is not about sessions: why there is none, and the notes.
func (c *Client) updateStatus() {
	var nextSearch time.Time
	if c.searching() {
		nextSearch = c.nextSearch()
	}
	var held []string
	notes := slices.Clone(c.notes)
	for _, p := range c.peers {
		if c.stateOf(p) == occupied {
			held = append(held, strconv.Itoa(p.port.Port))
			args := p.program()
			args["port"] = strconv.Itoa(p.port.Port)
			notes = append(notes, health.Wrap(p.notClientReason, health.PortHeld, health.Warning, args).Condition)
		}
	}
	if why := c.unwatchedBy.Load(); why != nil {
		notes = append(notes, *why)
	}
	err := c.noClientError(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.status.Reason == nil || !c.status.Reason.Equal(err.Condition)
	if changed { // most searches find the same as the one before
		c.status.Error, c.status.Reason = err.Error(), &err.Condition
	}
	if changed || !slices.EqualFunc(c.status.Notes, notes, health.Condition.Equal) {
		defer c.notifyAll()
	}
	for _, n := range notes {
		if !slices.ContainsFunc(c.status.Notes, n.Equal) && n.Code != health.ClientsUnwatched { // watch has logged it
			c.opts().Log.Warn("where a client might be", "note", health.English.Phrase(n))
		}
	}
	c.status.Notes, c.status.NextTry = notes, nextSearch
	alone := !slices.ContainsFunc(c.peers, func(p *peer) bool {
		return p.running || slices.Contains(sessionStates, p.status.State) && p.status.State != Foreign
	})
	if alone && c.loggedReason != c.status.Error {
		c.loggedReason = c.status.Error
		c.opts().Log.Info("no client to report to", "reason", err, remedy(err))
	}
}

// program returns what is known of the program that holds a port.
func (p *peer) program() health.Args {
	switch {
	case p.Name != "":
		return health.Args{"program": p.Name, "pid": strconv.Itoa(p.PID)}
	case p.UID != "":
		return health.Args{"user": p.UID}
	default:
		return health.Args{}
	}
}

// noClientError says where clients were looked for, and which ports are held by other programs.
func (c *Client) noClientError(held []string) *health.Error {
	where, ports := make(health.Args), c.opts().Ports
	if slices.Contains(c.opts().Transports, IPC) || len(ports) == 0 {
		where["sockets"] = "true"
	}
	switch {
	case len(ports) == 0 || len(c.opts().Transports) == 1 && c.opts().Transports[0] == IPC:
	case len(ports) == 1:
		where["port"] = strconv.Itoa(ports[0])
	default:
		where["ports"] = fmt.Sprintf("%d–%d", ports[0], ports[len(ports)-1])
	}
	if len(held) > 0 {
		where["held"] = texts.List(held...)
	}
	return &health.Error{Condition: health.Condition{Code: health.ClientsNone, Severity: health.Problem, Args: where}, Cause: link.ErrNoClient}
}
