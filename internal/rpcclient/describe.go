package rpcclient

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// updateStatus says why there is no client.
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
			notes = append(notes, fmt.Sprintf("port %d is held by another program: %s: %v", p.port.Port, p.program(), p.notClientReason))
		}
	}
	err := c.noClientError(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.Error != err.Error() || !slices.Equal(c.status.Notes, notes) {
		defer c.notifyAll()
	}
	for _, n := range notes {
		if !slices.Contains(c.status.Notes, n) {
			c.opts().Log.Warn("where a client might be", "note", n)
		}
	}
	c.status.Notes, c.status.NextTry = notes, nextSearch
	c.status.Error, c.status.Remedy = err.Error(), Remedy(err)
	alone := !slices.ContainsFunc(c.peers, func(p *peer) bool {
		return slices.Contains(sessionStates, p.status.State) && p.status.State != Foreign
	})
	if alone && c.loggedReason != c.status.Error && slices.IndexFunc(c.peers, func(p *peer) bool { return p.running }) < 0 {
		c.loggedReason = c.status.Error
		c.opts().Log.Info("no client to report to", "reason", err, "remedy", c.status.Remedy)
	}
}

func (p *peer) program() string {
	switch {
	case p.Name != "":
		return fmt.Sprintf("%s (pid %d)", p.Name, p.PID)
	case p.UID != "":
		return "of user " + p.UID
	default:
		return "unknown"
	}
}

// noClientError says what was tried, and which ports are held by others.
func (c *Client) noClientError(held []string) error {
	if len(c.opts().Ports) == 0 || len(c.opts().Transports) == 1 && c.opts().Transports[0] == IPC {
		return fmt.Errorf("%w on any IPC socket", ErrNoClient)
	}
	where := fmt.Sprintf("ports %d to %d of 127.0.0.1", c.opts().Ports[0], c.opts().Ports[len(c.opts().Ports)-1])
	if len(c.opts().Ports) == 1 {
		where = fmt.Sprintf("port %d of 127.0.0.1", c.opts().Ports[0])
	}
	if slices.Contains(c.opts().Transports, IPC) {
		where = "any IPC socket, nor on " + where
	}
	if len(held) > 0 {
		where += fmt.Sprintf(" (another program holds %s)", strings.Join(held, ", "))
	}
	return fmt.Errorf("%w on %s", ErrNoClient, where)
}
